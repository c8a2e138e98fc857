/**
 * What a running turn was asked and has done so far. It is in no conversation yet, but it is what a message that
 * is written in this turn is about.
 */
import type { Event } from '../../model/event.ts'
import type { Json } from '../../model/json.ts'
import { countGently, preview } from '../../model/text.ts'
import type { Running } from '../kernel/running.ts'
import { readAll } from '../kernel/scope.ts'
import type { Runtime } from '../turns/runtime.ts'

/** R11: of each part, and of all together. */
const partPoints = 2000
const tokensMax = 1500

/** The request first, then what was said and found. Where it does not all fit, the newest stays. */
export async function describeTurnSoFar(runtime: Runtime, running: Running): Promise<string> {
  const { row, input, buffer } = running
  const recorded = await readAll(runtime.store, row.openedSeq - 1, {
    sessions: [row.session],
    types: ['step.ended'],
  })
  const events = [...recorded.map(({ event }) => event).filter(({ turn }) => turn === row.id), ...buffer]
  const asked = `Asked: ${preview('task' in input ? input.task : input.text, partPoints)}`
  let left = tokensMax - (await countGently(runtime.count, asked))
  const parts: string[] = []
  for (const part of events.flatMap(describeStep).toReversed()) {
    left -= await countGently(runtime.count, part)
    if (left < 0) {
      parts.unshift('(Earlier steps are left out.)')
      break
    }
    parts.unshift(part)
  }
  return [asked, ...parts].join('\n')
}

function describeStep(event: Event): string[] {
  if (event.type !== 'step.ended') return []
  if (event.kind === 'tool')
    return [`${event.name} ${shorten(event.input)} answered: ${shorten(event.output)}`]
  const text = readText(event.output)
  return event.kind !== 'model' || text === '' ? [] : [`Said: ${preview(text, partPoints)}`]
}

const shorten = (value: Json): string => preview(JSON.stringify(value), partPoints)

const readText = (output: Json): string =>
  typeof output === 'object' &&
  output !== null &&
  !Array.isArray(output) &&
  typeof output['text'] === 'string'
    ? output['text'].trim()
    : ''
