/** Prices in the configuration: dollars for a million tokens, by `provider/model`. */
import { z } from 'zod'

const usdPerMillion = z.number().min(0).max(1_000_000)

export const OwnPrice = z.strictObject({
  input: usdPerMillion,
  output: usdPerMillion,
  cachedInput: usdPerMillion.optional(),
  cacheWrite: usdPerMillion.optional(),
})
export type OwnPrice = z.infer<typeof OwnPrice>

export const OwnPrices = z.record(
  z.string().regex(/^[^/\s]+\/\S+$/, 'a provider and a model with "/" between them'),
  OwnPrice,
)
export type OwnPrices = z.infer<typeof OwnPrices>
