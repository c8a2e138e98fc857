/** What the models of the probes do, the same for every contender, and how a probe tells what it sees. */
import type { Role } from '../work.ts'

/** `limited` is `hang` with the contender's own limit of a second for the call. */
export const probeNames = ['hang', 'limited', 'ring', 'empty', 'kill'] as const
export type ProbeName = (typeof probeNames)[number]

/** `life` is 2 in the process that starts after the first was killed; `data` is a directory that both have. */
export type Probe = { name: ProbeName; life: number; data: string }

/** One request to a model, what an agent was told by its tool, or the end. A line of JSON on the output each. */
export type Seen =
  | { model: Role }
  | { told: string; role: Role }
  | { answer: string }
  | { failed: string }
  | { lost: true }

export const limitMs = 1000
export const coderText = 'The port is 8283.'
export const plannerText = 'Done.'

export const report = (seen: Seen): void => console.log(JSON.stringify(seen))

type Move = { kind: 'hang' } | { kind: 'text'; text: string } | { kind: 'call'; to: Role; task: string }

/** `told` is the result of the tool that the model called before, if it called one. */
export function decideMove(probe: Probe, role: Role, told: string | null): Move {
  report({ model: role })
  if (told !== null) report({ told, role })
  if (told !== null) return { kind: 'text', text: role === 'planner' ? plannerText : coderText }
  if (role === 'planner') return { kind: 'call', to: 'coder', task: 'Which port is it?' }
  if (probe.name === 'ring') return { kind: 'call', to: 'planner', task: 'Which port is it?' }
  if (probe.name === 'empty') return { kind: 'text', text: '' }
  if (probe.name === 'kill' && probe.life === 2) return { kind: 'text', text: coderText }
  return { kind: 'hang' }
}

/** Never answers, and ends when it is aborted, as a request over HTTP does. */
export const hang = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_resolve, reject) => {
    const timer = setInterval(() => undefined, 60_000)
    const end = (): void => {
      clearInterval(timer)
      reject(signal?.reason as Error)
    }
    if (signal?.aborted === true) end()
    signal?.addEventListener('abort', end, { once: true })
  })
