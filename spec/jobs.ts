/**
 * Everything that `npm run proof` checks, one job each, and what each must say. Expected figures are pinned
 * in `expect.json`.
 */
import { readFileSync } from 'node:fs'
import { cases, runCase, type Case } from './checker/cases.ts'
import { conform } from './conform.ts'
import { renderConfig, lockstep } from './lockstep.ts'
import { checkTla, listConfigs, configText } from './tla.ts'

const tlaKinds = ['calls', 'activation', 'mail', 'cluster'] as const
type TlaKind = (typeof tlaKinds)[number]

export type Job =
  | { kind: TlaKind | 'checker'; name: string }
  | { kind: 'lockstep' | 'store'; name: string; seed: number; states: number }
export type Verdict = { job: Job; ok: boolean; states: number; said: string; note: string; seconds: number }

/** A number is how many states there are; a name is the property that must be broken. */
type Expected = Record<TlaKind | 'checker', Record<string, number | string>>
export const expected = JSON.parse(readFileSync(new URL('expect.json', import.meta.url), 'utf8')) as Expected

/** The longest first, so that two workers end together. */
export function allJobs(): Job[] {
  const weights = [
    'three hops, deadlines and cancels',
    'two faults, all of it',
    'Calls',
    'Deep',
    'Waits',
    'Held',
    'Crash',
    'no deadline is needed for waits',
    'Queues',
    'Stale',
    'Rings',
    'Safe',
  ]
  const weight = ({ kind, name }: Job): number =>
    kind === 'lockstep' ? -1 : weights.includes(name) ? weights.indexOf(name) : weights.length
  const jobs: Job[] = [
    ...[1, 2, 3, 4].map((seed): Job => ({ kind: 'lockstep', name: `seed ${seed}`, seed, states: 300 })),
    ...[1, 2].map((seed): Job => ({ kind: 'store', name: `seed ${seed}`, seed, states: 2000 })),
    ...tlaKinds.flatMap((kind) => listConfigs(kind).map((name): Job => ({ kind, name }))),
    ...cases.map(({ name }): Job => ({ kind: 'checker', name })),
  ]
  return jobs.sort((a, b) => weight(a) - weight(b))
}

type Found = Omit<Verdict, 'job' | 'seconds'>

export async function runJob(job: Job): Promise<Verdict> {
  const began = process.uptime()
  const found = await findVerdict(job)
  return { job, ...found, seconds: process.uptime() - began }
}

async function findVerdict(job: Job): Promise<Found> {
  switch (job.kind) {
    case 'lockstep':
      return describeComparison(lockstep(job.seed, job.states), 'as TLA+')
    case 'store':
      return describeComparison(await conform(job.seed, job.states), 'as SQLite')
    case 'checker':
      return findCase(cases.find(({ name }) => name === job.name))
    case 'calls':
    case 'activation':
    case 'mail':
    case 'cluster':
      return findTla(job.kind, job.name)
  }
}

const describeComparison = (
  { states, difference }: { states: number; difference: string | null },
  said: string,
): Found => ({
  ok: difference === null,
  states,
  said: difference === null ? said : 'differs',
  note: difference ?? '',
})

function findTla(kind: TlaKind, name: string): Found {
  const { success, states, error, warnings } = checkTla(kind, name)
  const want = expected[kind][name]
  const invariants = [...configText(kind, name).matchAll(/^INVARIANT (\w+)$/gm)].map(
    (match) => match[1] ?? '',
  )
  const broken = error === 'InvariantViolation'
  const ok =
    warnings.length === 0 &&
    (typeof want === 'string'
      ? broken && invariants.length === 1 && invariants[0] === want
      : success && states === want)
  return {
    ok,
    states,
    said: success ? 'holds' : broken ? `breaks ${invariants.join(', ')}` : `stopped: ${error ?? 'unknown'}`,
    note: warnings.join('; '),
  }
}

/** A twin has the constants of its TLA+ configuration and finds as many states. */
function findCase(one: Case | undefined): Found {
  if (one === undefined) throw new Error('there is no such case')
  const { states, complete, violation } = runCase(one)
  const said = violation?.property ?? (complete ? 'ok' : 'incomplete')
  const want = expected.checker[one.name]
  const pinned = one.expect === 'ok' ? want === states : want === one.expect
  const twin = one.twin === null || (expected.calls[one.twin] === states && sameConstants(one))
  const path =
    violation === null
      ? ''
      : `${violation.path.join(' ')}${violation.loop.length > 0 ? ` | ${violation.loop.join(' ')}` : ''}`
  return {
    ok: said === one.expect && pinned && twin,
    states,
    said: said === 'ok' ? 'holds' : `breaks ${said}`,
    note: path,
  }
}

function sameConstants({ twin, options }: Case): boolean {
  const text = configText('calls', twin ?? '').replace(/^INVARIANT .*\n/gm, '')
  return renderConfig(options) === text
}
