/** What this machine can: tried, not guessed. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { contained, faultMessage } from '../../model/contained.ts'
import { wakeLater } from '../../runtime/kernel/system-clock.ts'
import { bubblewrapArguments } from './bubblewrap.ts'
import { findPlaces } from './places.ts'
import { usherArguments } from './usher.ts'

export type Found =
  | { kind: 'bubblewrap'; bwrap: string; perl: string }
  | { kind: 'seatbelt' }
  | { kind: 'none'; why: string; cure: string }

const directories = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin']
const tryMsMax = 10_000
const seatbelt = '/usr/bin/sandbox-exec'

/** From places that belong to the system, whatever PATH says. */
const findProgram = (name: string): string | null =>
  directories.map((directory) => `${directory}/${name}`).find((path) => existsSync(path)) ?? null

export async function findSandbox(): Promise<Found> {
  if (process.platform === 'darwin')
    return existsSync(seatbelt)
      ? { kind: 'seatbelt' }
      : { kind: 'none', why: `there is no ${seatbelt}`, cure: 'Use auth = "on".' }
  if (process.platform !== 'linux')
    return { kind: 'none', why: `there is none for ${process.platform}`, cure: 'Use auth = "on".' }
  const [bwrap, perl] = [findProgram('bwrap'), findProgram('perl')]
  if (bwrap === null || perl === null)
    return {
      kind: 'none',
      why: `${bwrap === null ? 'bubblewrap (bwrap)' : 'perl'} is not installed`,
      cure: 'Install the packages bubblewrap and perl.',
    }
  const usher = usherArguments(perl, 0, '')
  if (usher === null)
    return { kind: 'none', why: `${process.arch} is not supported`, cure: 'Use auth = "on".' }
  const nothing = { home: '/nonexistent', dataDir: null, configuration: [], writable: [], hidden: [] }
  const refused = await tryRun(bwrap, [
    ...bubblewrapArguments({ ...findPlaces('/', nothing), writable: [] }, null),
    ...usher,
    '/bin/sh',
    '-c',
    'test "$$" -lt 10 && test ! -e /run/user',
  ])
  return refused === null
    ? { kind: 'bubblewrap', bwrap, perl }
    : {
        kind: 'none',
        why: `bubblewrap does not work here: ${refused}`,
        cure: 'Allow unprivileged user namespaces for bwrap.',
      }
}

/** Null where it ran, or what went wrong. */
function tryRun(program: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const broke = (fault: unknown): void => resolve(faultMessage(fault))
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: {} })
    const stopTimer = wakeLater(tryMsMax, () => child.kill('SIGKILL'))
    let said = ''
    child.stderr.on(
      'data',
      contained(broke, (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(0, 500))),
    )
    child.once('error', contained(broke, broke))
    child.once(
      'close',
      contained(broke, (code: number | null) => {
        stopTimer()
        resolve(code === 0 ? null : said.trim() || `it ended with ${code}`)
      }),
    )
  })
}
