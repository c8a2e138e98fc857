/** Runs an agent on a language model: our loop, one provider request per recorded step. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Agent } from '../../model/agent.ts'
import type { Millis } from '../../model/id.ts'
import { preview, type CountTokens } from '../../model/text.ts'
import { createAlarm, type Alarm } from '../../runtime/kernel/alarm.ts'
import { usageEstimator, type EstimateUsage } from '../../runtime/turns/estimate-usage.ts'
import { type Ask, runLoop, type ModelRequest } from '../../runtime/turns/loop.ts'
import type { Clock, Driver } from '../../runtime/kernel/ports.ts'
import type { PriceUsage } from '../../runtime/kernel/prices-port.ts'
import { faultMessage } from '../../model/contained.ts'
import type { Usage } from '../../model/event.ts'
import { ProviderFault } from '../../runtime/kernel/faults.ts'
import type { LimitBook } from '../../runtime/kernel/driven-port.ts'
import { type Broken, describeBroken, isUnavailable, redactor } from './describe-broken.ts'
import { readRateWindows } from './rate-windows.ts'
import { nothingReceived, receive, type Received } from './receive.ts'
import { turnWire, type WireRequest } from './wire.ts'

export type ModelDriverSettings = Pick<AskSettings, 'stallMs' | 'redact'> & {
  /** Rejects with words that say what to set, where the agent has no model that can be used. */
  model: (agent: Agent) => Promise<LanguageModelV4>
  clock: Clock
  count: CountTokens
  /** What requests of an agent cost; without it nothing has a price. */
  price?: (agent: Agent) => Promise<PriceUsage>
  /** Where limits that providers report are kept. */
  limits?: Limits
  /** Stopped by its owner; without it the driver keeps its own. */
  alarm?: Alarm
}

export function askMaker({ model, count, ...settings }: ModelDriverSettings) {
  const alarm = settings.alarm ?? createAlarm(settings.clock)
  const estimate = usageEstimator(count)
  const makeAsk = (agent: Agent, deadline: Millis, prices = readPrices(settings, agent)): Ask =>
    modelAsk({
      ...settings,
      model: () => model(agent),
      alarm,
      estimate,
      deadline,
      prices,
      provider: readProvider(agent),
      hasFallback: agent.fallback !== undefined,
    })
  return { makeAsk, estimate }
}

/** Of one agent's requests: read before the first of them, and nothing has a price until then. */
type AgentPrices = { load(): Promise<void> | null; price: PriceUsage }

function readPrices({ price: read }: Pick<ModelDriverSettings, 'price'>, agent: Agent): AgentPrices {
  let known: PriceUsage | null = null
  const load = async (): Promise<void> => void (known ??= (await read?.(agent)) ?? null)
  return {
    load: () => (known === null ? load() : null),
    price: (usage) => known?.(usage) ?? usage,
  }
}

/** A request that is aborted has cost something too. */
const withPrices = (estimate: EstimateUsage, { price }: AgentPrices): EstimateUsage =>
  Object.assign((...asked: Parameters<EstimateUsage>) => price(estimate(...asked)), {
    ahead: (...asked: Parameters<EstimateUsage['ahead']>) => estimate.ahead(...asked),
    price,
    atOnce: (...asked: Parameters<EstimateUsage['atOnce']>) => price(estimate.atOnce(...asked)),
  })

export function modelDriver(settings: ModelDriverSettings): Driver {
  const { makeAsk, estimate } = askMaker(settings)
  return {
    run(turn, steps, signal) {
      const prices = readPrices(settings, turn.agent)
      const ask = makeAsk(turn.agent, turn.turn.deadline, prices)
      const priced = withPrices(estimate, prices)
      return runLoop(turn, steps, signal, ask, turn.agent.model ?? 'model', priced)
    },
  }
}

/**
 * Asks a model, with our own retries: never after text was shown, never past the deadline, and always the
 * same idempotency key.
 */
const stallMsDefault = 120_000
const retriesMax = 4
const pauseMsFirst = 500
const pauseMsMax = 16_000
const remarkPointsMax = 200
/** With a `fallback`, before anything was begun: somebody else can do it now. */
const patienceMsMax = 10_000
const patientRetriesMax = 1

const overLimit = 429
/** Where it does not say when its limit is reset. */
const believedMs = 60_000

type Limits = Omit<LimitBook, 'close'>

type AskSettings = {
  /** Called for the first real request only, so that a replay needs no model and no key. */
  model: () => Promise<LanguageModelV4>
  clock: Clock
  /** Watches for stalls; one serves all requests. */
  alarm: Alarm
  estimate: EstimateUsage
  prices?: AgentPrices
  deadline: Millis
  stallMs?: number
  /** Somebody else can do it, as long as this turn has no answer yet: a provider in need is not waited for. */
  hasFallback?: boolean
  redact?: (text: string) => string
  limits?: Limits
  provider?: string
}

/** As the configuration names it. */
export const readProvider = ({ model = '' }: Pick<Agent, 'model'>): string => model.split('/')[0] ?? ''

/** The asker of one turn. */
export function modelAsk(settings: AskSettings): Ask {
  const { clock, alarm, stallMs = stallMsDefault, redact = redactor(() => []) } = settings
  const translate = turnWire()
  const end = clock.elapsed() + (settings.deadline - clock.now())
  let model: LanguageModelV4 | null = null
  let limitRefused = false
  let formatRefused = false
  let hasAnswered = false

  return async (request, emit, signal, remark) => {
    const canMove = settings.hasFallback === true && !hasAnswered && !followsTool(request)
    model ??= await settings.model().catch((error: unknown) => {
      const detail = redact(faultMessage(error))
      throw new ProviderFault('provider_unconfigured', detail, { unavailable: true, cause: error })
    })
    const loading = settings.prices?.load() ?? null
    if (loading !== null) await loading
    const wire = translate(request)
    for (let tries = 1; ; tries += 1) {
      const received = nothingReceived()
      try {
        const limited = limitRefused ? withoutLimit(wire) : wire
        const sent = formatRefused ? withoutFormat(limited) : limited
        await receive(model, sent, received, emit, { clock, alarm, stallMs, signal })
        if (received.finish === 'error') throw new Error('the provider ended its answer with an error')
        settings.limits?.forget(settings.provider ?? '')
        settings.limits?.see(settings.provider ?? '', readRateWindows(received.headers, clock.now()))
        hasAnswered = true
        return {
          text: received.text,
          toolCalls: received.toolCalls,
          usage: await readUsage(request, received, settings),
          finish: received.finish ?? 'other',
        }
      } catch (error) {
        signal.throwIfAborted()
        const broken = describeBroken(error, redact)
        if (broken.status === overLimit)
          settings.limits?.note(settings.provider ?? '', broken.detail, broken.retryAfterMs ?? believedMs)
        if (!limitRefused && refusesLimit(broken, wire)) {
          limitRefused = true
          continue
        }
        // Not every provider takes every schema as a format: the model has read it with its task anyway.
        if (!formatRefused && broken.status === 400 && wire.responseFormat !== undefined) {
          formatRefused = true
          continue
        }
        const pauseMs = pauseBefore(tries, broken, canMove)
        if (received.text !== '' || pauseMs === null || clock.elapsed() + pauseMs >= end)
          throw await makeFault(error, broken, tries, request, received, settings)
        const next = `try ${tries + 1} of ${(canMove ? patientRetriesMax : retriesMax) + 1}`
        const detail = preview(broken.detail, remarkPointsMax)
        remark?.(`the provider is asked again in ${describePause(pauseMs)} (${next}): ${detail}`)
        await clock.sleep(pauseMs, signal)
        remark?.(`the provider is asked again (${next}): ${detail}`)
      }
    }
  }
}

const describePause = (ms: number): string =>
  `${ms < 10_000 ? Math.ceil(ms / 100) / 10 : Math.ceil(ms / 1000)} s`

/** A turn that runs again may have got answers before. */
const followsTool = ({ messages }: ModelRequest): boolean => messages.at(-1)?.role === 'tool'

/**
 * Doubles from half a second; the provider's own wish wins. Null where a retry is of no use. Where the call can move,
 * one that nobody could connect to moves at once, and any other fault is tried once more: most of those pass.
 */
function pauseBefore(tries: number, broken: Broken, canMove: boolean): number | null {
  if (!broken.retry || tries > (canMove ? patientRetriesMax : retriesMax)) return null
  if (canMove && (broken.unreached || (broken.retryAfterMs ?? 0) > patienceMsMax)) return null
  return broken.retryAfterMs ?? Math.min(pauseMsFirst * 2 ** (tries - 1), pauseMsMax)
}

/**
 * A budget can be larger than what a model may be asked to write at most; then the limit is left out, and the
 * budget is checked after the answer.
 */
const refusesLimit = (broken: Broken, wire: WireRequest): boolean =>
  broken.status === 400 &&
  wire.maxOutputTokens !== undefined &&
  /max.{0,3}(output|completion|new)?.{0,3}tokens?/i.test(broken.detail)

function withoutLimit(wire: WireRequest): WireRequest {
  const { maxOutputTokens: _, ...rest } = wire
  return rest
}

function withoutFormat(wire: WireRequest): WireRequest {
  const { responseFormat: _, ...rest } = wire
  return rest
}

async function makeFault(
  error: unknown,
  broken: Broken,
  tries: number,
  request: ModelRequest,
  received: Received,
  settings: Counting,
): Promise<ProviderFault> {
  const detail = tries > 1 ? `${broken.detail} (after ${tries} tries)` : broken.detail
  const usage = received.text === '' ? null : await readUsage(request, received, settings)
  return new ProviderFault(broken.code, detail, { usage, unavailable: isUnavailable(broken), cause: error })
}

type Counting = Pick<AskSettings, 'estimate' | 'prices'>

async function readUsage(request: ModelRequest, received: Received, settings: Counting): Promise<Usage> {
  const counted = readReported(received) ?? (await countUsage(request, received, settings.estimate))
  const usage = { ...counted, ...readParts(received) }
  return settings.prices?.price(usage) ?? usage
}

/** The provider's own numbers where it gives them. Some local servers say zero, which is never true. */
function readReported(received: Received): Usage | null {
  const { input, output } = readTotals(received)
  const silent = received.text === '' && received.toolCalls.length === 0
  return input > 0 && (output > 0 || silent) ? { input, output, estimated: false } : null
}

const readTotals = ({ usage }: Received): { input: number; output: number } => ({
  input: usage?.inputTokens.total ?? 0,
  output: usage?.outputTokens.total ?? 0,
})

async function countUsage(
  request: ModelRequest,
  received: Received,
  estimate: EstimateUsage,
): Promise<Usage> {
  const { input, output } = readTotals(received)
  await estimate.ahead(request, received.text)
  const counted = estimate(request, received.text, received.toolCalls)
  return {
    input: input > 0 ? input : counted.input,
    output: output > 0 ? output : counted.output,
    estimated: true,
  }
}

type PricedParts = Partial<Pick<Usage, 'cached' | 'cacheWrite' | 'reasoning'>>

/** What has a price of its own. */
function readParts({ usage }: Received): PricedParts {
  const parts: PricedParts = {}
  const put = (part: keyof PricedParts, tokens: number | undefined): void => {
    if (tokens !== undefined && Number.isFinite(tokens) && tokens > 0) parts[part] = Math.ceil(tokens)
  }
  put('cached', usage?.inputTokens.cacheRead)
  put('cacheWrite', usage?.inputTokens.cacheWrite)
  put('reasoning', usage?.outputTokens.reasoning)
  return parts
}
