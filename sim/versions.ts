/**
 * Nodes of two versions on one log, as during an upgrade. Which of them may start, and which has to stop deciding,
 * is said by the functions that nodes on PostgreSQL ask (`src/store/postgres/formats.ts`). The laws are those of
 * `spec/cluster/Cluster.tla`: Understood (R10), nobody decides on what a newer version wrote; and NotLeft (R12),
 * nobody who lives is made unable to go on.
 */
import type { Millis, NodeId } from '../src/model/id.ts'
import { findBar, knowsLog, type Beaten } from '../src/store/postgres/formats.ts'
import type { Bug } from './bug.ts'
import { InjectedFault, type Host } from './host.ts'
import type { Fault, Plan } from './plan.ts'

/** A program that runs: its host may run a newer one later, and what this one had sent arrives all the same. */
export type Program = { node: NodeId; host: Host; life: number; format: number }

type Surroundings = { now: () => Millis; fail: (why: string) => void; bug: Bug | null }

/** What a fault does to a host, which starts with another program from then on. */
export function replaceProgram(fault: Fault, host: Host): Fault {
  if (fault.kind !== 'version') return fault
  host.format = fault.format
  const { how: kind, at, node, ms } = fault
  return { kind, at, node, ms }
}

/** Null where a plan has one version only. */
export const watchVersions = ({ faults }: Plan, around: Surroundings): Versions | null =>
  faults.some(({ kind }) => kind === 'version') ? new Versions(around) : null

export class Versions {
  /** What the log says of itself. */
  #format = 1
  /** The newest that anybody has written with. */
  #written = 0
  readonly #beaten = new Map<NodeId, Beaten>()
  readonly #around: Surroundings

  constructor(around: Surroundings) {
    this.#around = around
  }

  /** Throws where the node may not start: its host's keeper tries again. */
  join({ host, format: own }: Program): void {
    const { now, fail, bug } = this.#around
    const living = [...this.#beaten.values()]
    const bar = (bug?.findBar ?? findBar)(own, this.#format, living, now())
    if (bar !== null) {
      host.bar()
      host.count(bar.why === 'log newer' ? 'version.too_old' : 'version.too_early')
      throw new InjectedFault(`the node was kept out: ${bar.why}`)
    }
    if (own > this.#format) {
      const left = living.find(({ format, until }) => format < own && until > now())
      if (left !== undefined) fail(`R12: ${left.id} lives, and an upgrade has left it behind`)
      host.count('version.upgraded')
    }
    this.#format = Math.max(this.#format, own)
  }

  beat(program: Program, ttlMs: number): void {
    this.#expectKnown(program)
    const { node, format } = program
    this.#beaten.set(node, { id: node, format, until: this.#around.now() + ttlMs })
  }

  /** Throws where the log is newer than what the node knows. */
  #expectKnown({ host, life, format }: Program): void {
    const { bug } = this.#around
    if ((bug?.knowsLog ?? knowsLog)(format, this.#format)) return
    host.count('version.left_behind')
    if (host.life === life) host.bar()
    throw new InjectedFault('a newer version uses this log now')
  }

  /** Called when a node has its keys, and what it decides on before it. */
  decide(program: Program): void {
    this.#expectKnown(program)
    const { node, format } = program
    const written = this.#written
    if (format < written)
      this.#around.fail(`R10: ${node} knows format ${format}, and decides on what format ${written} wrote`)
  }

  wrote({ format }: Program): void {
    this.#written = Math.max(this.#written, format)
  }
}
