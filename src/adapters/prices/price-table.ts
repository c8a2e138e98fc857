/**
 * Prices from the table of `@pydantic/genai-prices`, which comes with it and needs no network, and those that the
 * configuration has instead. Long contexts, cached and cache-writing tokens have prices of their own, so each
 * request is priced alone: the price of a sum would be another.
 */
import type { calcPrice } from '@pydantic/genai-prices'
import type { Usage } from '../../model/event.ts'
import type { Cost } from '../../model/money.ts'
import { toNanoUsd } from '../../model/money.ts'
import type { OwnPrice, OwnPrices } from '../../model/own-price.ts'
import { priceTable, type PricedModel, type Prices } from '../../runtime/kernel/prices-port.ts'

const providerIds: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  google: 'google',
}

/** Half a megabyte of prices. */
export const loadTable = (): Promise<typeof import('@pydantic/genai-prices')> =>
  import('@pydantic/genai-prices')

export function tablePrices(own: OwnPrices = {}): Prices {
  let calculate: typeof calcPrice | null = null
  let loading: Promise<void> | null = null
  const load = async (): Promise<void> => {
    calculate = (await loadTable()).calcPrice
  }
  return {
    table: priceTable,
    // For the first request that may have a price.
    load: () => (loading ??= load()),
    price(of, usage, at) {
      const wanted = Object.hasOwn(own, of.name) ? own[of.name] : undefined
      if (wanted !== undefined) return { nanoUsd: priceOwn(wanted, usage), by: 'configuration' }
      return calculate === null ? null : priceByTable(calculate, of, usage, at)
    },
  }
}

/** Parts of the input never exceed it, whatever a provider says. */
function splitInput({ input, cached = 0, cacheWrite = 0 }: Usage) {
  const read = Math.min(cached, input)
  return { read, write: Math.min(cacheWrite, input - read) }
}

const tokensPerPrice = 1_000_000

function priceOwn(price: OwnPrice, usage: Usage): number {
  const { read, write } = splitInput(usage)
  const usd =
    ((usage.input - read - write) * price.input +
      read * (price.cachedInput ?? price.input) +
      write * (price.cacheWrite ?? price.input) +
      usage.output * price.output) /
    tokensPerPrice
  return toNanoUsd(usd) ?? 0
}

/** A compatible server is known by its address, so that a model on this machine never has the price of a cloud's. */
function priceByTable(calculate: typeof calcPrice, of: PricedModel, usage: Usage, at: number): Cost | null {
  const { provider } = of
  if (provider === null) return null
  const providerId = providerIds[provider.kind]
  const found = providerId === undefined ? { providerApiUrl: provider.baseURL ?? '' } : { providerId }
  const { read, write } = splitInput(usage)
  try {
    const priced = calculate(
      {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: read,
        cache_write_tokens: write,
      },
      of.model,
      // oxlint-disable-next-line no-restricted-globals -- the table wants one; the time is the clock's
      { ...found, timestamp: new Date(at) },
    )
    const nanoUsd = priced === null ? null : toNanoUsd(priced.total_price)
    return nanoUsd === null ? null : { nanoUsd, by: 'table' }
  } catch {
    // The table throws for models whose price needs what is not known here: those have no price.
    return null
  }
}
