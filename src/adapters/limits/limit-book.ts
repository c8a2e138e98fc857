/**
 * Limits that agents and providers said they have reached, until they are reset. They stand in a file beside the log
 * and not in it: nothing that is recorded depends on them, and a file that is lost costs one request.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { preview } from '../../model/text.ts'
import type { LimitBook } from '../../runtime/kernel/driven-port.ts'
import type { Clock } from '../../runtime/kernel/ports.ts'
import { readKeptNow, replaceKept } from '../../trust/kept-file.ts'

const fileName = 'limits.json'
/** R11: those that were reported last. */
const keptMax = 200
const whyCharsMax = 1000
const fileBytesMax = 4 * 1024 * 1024
/** A clock that was wrong when it was written must not close an agent for ever. */
const keptMsMax = 31 * 24 * 60 * 60 * 1000

const Window = z.object({ name: z.string(), used: z.number(), resetsAt: z.number() })
const Kept = z.record(
  z.string(),
  z.object({
    why: z.string().optional(),
    resetsAt: z.number().optional(),
    windows: z.array(Window).optional(),
  }),
)
/** Windows are reported with each answer: they are written this often at most, and when the server ends. */
const windowsWrittenMs = 60_000
/** R11: of one agent or provider. */
const windowsMax = 10

type Parts = {
  clock: Pick<Clock, 'now' | 'elapsed'>
  /** Null: they are known as long as this process lives. */
  directory: string | null
  /** What is written down, without secrets. */
  clean?: (text: string) => string
  report?: (fault: unknown) => void
}

export function limitBook({ clock, directory, clean = (text) => text, report }: Parts): LimitBook {
  const file = directory === null ? null : join(directory, fileName)
  const limits = new Timed<string>(clock)
  const seen = new Map<string, Timed<number>>()
  const windowsOf = (who: string): Timed<number> => {
    const known = seen.get(who) ?? new Timed<number>(clock)
    seen.delete(who)
    seen.set(who, known)
    dropOldest(seen, keptMax)
    return known
  }
  for (const [who, { why, resetsAt, windows = [] }] of file === null ? [] : readKept(file)) {
    if (why !== undefined && resetsAt !== undefined) limits.set(who, why, resetsAt - clock.now())
    for (const one of windows) windowsOf(who).set(one.name, one.used, one.resetsAt - clock.now())
  }
  let writing = Promise.resolve()
  let [isDue, isBehind, writtenAt] = [false, false, clock.elapsed() - windowsWrittenMs]
  const find: LimitBook['find'] = (who) => {
    const limit = limits.get(who)
    return limit === null ? null : { why: limit.value, resetsAt: limit.resetsAt }
  }
  const readWindows: LimitBook['windows'] = (who) =>
    [...(seen.get(who)?.all() ?? [])].map(({ key, value, resetsAt }) => ({
      name: key,
      used: value,
      resetsAt,
    }))
  /** Thousands of requests may be refused in one moment: the next time serves all that came before it. */
  const write = (): void => {
    if (file === null || isDue) return
    isDue = true
    writing = writing
      .then(() => {
        ;[isDue, isBehind, writtenAt] = [false, false, clock.elapsed()]
        return replaceKept(file, render([...limits.keys(), ...seen.keys()], find, readWindows))
      })
      .catch((fault: unknown) => report?.(fault))
  }
  return {
    note(who, why, leftMs) {
      limits.set(who, preview(clean(why), whyCharsMax), leftMs, keptMax)
      write()
    },
    forget(who) {
      if (limits.delete(who)) write()
    },
    find,
    see(who, windows) {
      if (windows.length === 0) return
      const known = windowsOf(who)
      for (const { name, used, resetsAt } of windows)
        known.set(clean(name), used, resetsAt - clock.now(), windowsMax)
      isBehind = true
      if (clock.elapsed() - writtenAt >= windowsWrittenMs) write()
    },
    windows: readWindows,
    close() {
      if (isBehind) write()
      return writing
    },
  }
}

/** Values that are true until a time, by a clock that nobody sets. */
class Timed<Value> {
  readonly #clock: Parts['clock']
  readonly #known = new Map<string, { value: Value; until: number }>()
  constructor(clock: Parts['clock']) {
    this.#clock = clock
  }
  set(key: string, value: Value, leftMs: number, countMax = Infinity): void {
    this.#known.delete(key)
    this.#known.set(key, { value, until: this.#clock.elapsed() + Math.min(leftMs, keptMsMax) })
    dropOldest(this.#known, countMax)
  }
  get(key: string): { key: string; value: Value; resetsAt: number } | null {
    const known = this.#known.get(key)
    const leftMs = known === undefined ? 0 : known.until - this.#clock.elapsed()
    if (known === undefined || leftMs <= 0) return null
    return { key, value: known.value, resetsAt: Math.ceil(this.#clock.now() + leftMs) }
  }
  delete(key: string): boolean {
    return this.#known.delete(key)
  }
  keys(): Iterable<string> {
    return this.#known.keys()
  }
  all(): { key: string; value: Value; resetsAt: number }[] {
    return [...this.#known.keys()].flatMap((key) => this.get(key) ?? [])
  }
}

function dropOldest(known: Map<string, unknown>, countMax: number): void {
  for (const oldest of known.keys()) if (known.size > countMax) known.delete(oldest)
}

function render(names: readonly string[], find: LimitBook['find'], windowsOf: LimitBook['windows']): string {
  const kept = Array.from(new Set(names)).flatMap((who) => {
    const [limit, windows] = [find(who), windowsOf(who)]
    return limit === null && windows.length === 0
      ? []
      : [[who, { ...limit, ...(windows.length === 0 ? {} : { windows }) }] as const]
  })
  return `${JSON.stringify(Object.fromEntries(kept))}\n`
}

/** What cannot be read was never reported. */
function readKept(file: string): [string, z.infer<typeof Kept>[string]][] {
  try {
    return Object.entries(Kept.parse(JSON.parse(readKeptNow(file, fileBytesMax))))
  } catch {
    return []
  }
}
