/**
 * A session's rolling summary: written by its model on demand, as a recorded and charged step, otherwise
 * extracted.
 */
import type { Entry } from '../../model/context.ts'
import { headUnits, preview } from '../../model/text.ts'
import { ProviderFault } from '../kernel/faults.ts'
import type { Runtime } from './runtime.ts'
import type { Running } from '../kernel/running.ts'
import { createSteps } from './steps.ts'

const entriesPerRound = 200
const sentencePoints = 160
const sentenceUnitsMax = 4096
const extractedLinesMax = 24

/** Null where there is nothing to summarise yet. Parallel calls of one turn share one. */
export function ensureSummary(runtime: Runtime, running: Running): Promise<string | null> {
  return (running.summary ??= write(runtime, running))
}

async function write(runtime: Runtime, running: Running): Promise<string | null> {
  const { session } = running
  if (session.entries === 0) return null
  if (session.summary !== null && session.summaryEntries === session.entries) return session.summary
  const from = Math.max(session.summaryEntries + 1, session.entries - entriesPerRound + 1)
  const numbers = Array.from({ length: session.entries - from + 1 }, (_, index) => from + index)
  const fresh = await runtime.store.entriesByNumber(session.id, numbers)
  const { text } = await createSteps(runtime, running).step(
    'summary',
    running.agent.name,
    { upTo: session.entries },
    async (signal) => {
      const written = await runtime
        .summarise(running.agent, session.summary, fresh, signal, runtime.ids.boundary())
        .catch((error: unknown) => {
          // A model that cannot write one is no reason to refuse the call: the extract is what agents without
          // a model get.
          if (error instanceof ProviderFault) return null
          throw error
        })
      const value = { text: written?.text ?? extract(session.summary, fresh), entries: session.entries }
      return { value, usage: written?.usage ?? null }
    },
  )
  return text
}

/** Without a model: the first sentence of each message, newest kept, and what was there before. */
export function extract(previous: string | null, entries: readonly Entry[]): string {
  const lines = entries.map((entry) => `${entry.from ?? entry.role}: ${firstSentence(entry.text)}`)
  return [...(previous === null ? [] : previous.split('\n')), ...lines].slice(-extractedLinesMax).join('\n')
}

function firstSentence(text: string): string {
  // No more is shown than fits into a line, so no more is looked at.
  const flat = headUnits(text, sentenceUnitsMax).replace(/\s+/g, ' ').trim()
  const end = flat.search(/[.!?。](\s|$)/u)
  const sentence = end < 0 ? flat : flat.slice(0, end + 1)
  const short = preview(sentence, sentencePoints)
  return short.length < sentence.length ? `${short}…` : short
}
