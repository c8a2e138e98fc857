/** Starts what works for an agent: with the token of its turn, and in a sandbox where this machine has one. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxMode } from '../../model/agent.ts'
import type { TurnId } from '../../model/id.ts'
import type { Refusal } from '../../model/refusal.ts'
import { serverVariable, turnVariable } from '../../model/turn-variable.ts'
import type { Command, Launch, Launcher } from '../../runtime/kernel/launch-port.ts'
import { bubblewrapArguments, innerDoorPath } from './bubblewrap.ts'
import { openInnerDoor, type InnerDoor, type ServerDoor } from './inner-door.ts'
import type { SandboxNetwork } from './outward.ts'
import { findPlaces, type PlaceOptions } from './places.ts'
import { findSandbox, type Found } from './probe.ts'
import { writeProfile } from './seatbelt.ts'
import { usherArguments } from './usher.ts'

/** The server that serves this line: what a turn starts acts there in its turn. */
export type TurnDoor = ServerDoor & { mint(turn: TurnId): string }

export type LauncherOptions = {
  mode: SandboxMode
  network: SandboxNetwork
  places: PlaceOptions
  /** Null while there is no server. */
  door: () => TurnDoor | null
  report: (fault: unknown) => void
  /** How it is found out what this machine can. */
  find?: () => Promise<Found>
}

export type OpenLauncher = Launcher & {
  /** What this machine can. */
  found(): Promise<Found>
  close(): Promise<void>
}

/** Where the server is inside, if it is nowhere outside: the way out is there too. */
const portDefault = 8283

export function createLauncher(options: LauncherOptions): OpenLauncher {
  let finding: Promise<Found> | null = null
  let opening: Promise<InnerDoor> | null = null
  const found = (): Promise<Found> => (finding ??= (options.find ?? findSandbox)())
  const open = async (): Promise<string> => (await openDoor()).path
  const openDoor = (): Promise<InnerDoor> => (opening ??= openInnerDoor({ ...options, server: options.door }))
  return {
    found,
    async wrap(command, { sandbox = options.mode, turn, own = [], seen = [] }) {
      const given = withTurn(command, options.door(), turn)
      if (sandbox === 'off') return given
      const way = await found()
      switch (way.kind) {
        case 'none':
          return sandbox === 'required' ? refuseLaunch(command, way) : given
        case 'bubblewrap':
          return inBubblewrap(
            given,
            { ...options, places: { ...options.places, own, seen } },
            way,
            await open(),
          )
        case 'seatbelt':
          return inSeatbelt(given, { ...options, places: { ...options.places, own, seen } })
      }
    },
    close: async () => (await opening)?.close(),
  }
}

function withTurn(command: Command, door: TurnDoor | null, turn: TurnId | null): Launch {
  const variables =
    door === null || turn === null ? {} : { [serverVariable]: door.url, [turnVariable]: door.mint(turn) }
  return { ...command, env: { ...command.env, ...variables }, sandboxed: false }
}

const refuseLaunch = ({ program }: Command, { why, cure }: Extract<Found, { kind: 'none' }>): Refusal => ({
  code: 'cannot_restrict',
  what: program,
  why,
  cure,
})

const readPort = (door: TurnDoor | null): number =>
  door === null ? portDefault : Number(new URL(door.url).port) || portDefault

function inBubblewrap(
  command: Launch,
  { door, network, places: options }: LauncherOptions,
  { bwrap, perl }: Extract<Found, { kind: 'bubblewrap' }>,
  path: string,
): Launch {
  const places = findPlaces(command.cwd, { ...options, path: command.env['PATH'] })
  const port = readPort(door())
  const usher = usherArguments(perl, port, innerDoorPath) ?? []
  return {
    program: bwrap,
    args: [...bubblewrapArguments(places, path), ...usher, command.program, ...command.args],
    cwd: command.cwd,
    env: { ...emptyCaches, ...proxyVariables(network, port), ...command.env, TMPDIR: '/tmp' },
    sandboxed: true,
  }
}

/** The user's caches are not writable: what an agent put there, the user would run. */
const emptyCaches = { XDG_CACHE_HOME: '/tmp/cache', npm_config_cache: '/tmp/cache/npm' }

function proxyVariables(network: SandboxNetwork, port: number): Record<string, string> {
  if (network === 'none') return {}
  const at = `http://127.0.0.1:${port}`
  const direct = '127.0.0.1,localhost,::1'
  const both = { HTTP_PROXY: at, HTTPS_PROXY: at, ALL_PROXY: at, NO_PROXY: direct }
  const lower = Object.entries(both).map(([name, value]) => [name.toLowerCase(), value])
  return { ...both, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' }
}

/** There is no way out to go through: the profile itself says what may be reached. */
async function inSeatbelt(command: Launch, { door, network, places }: LauncherOptions): Promise<Launch> {
  const temporary = await mkdtemp(join(tmpdir(), 'tieline-sandbox-'))
  const found = findPlaces(command.cwd, places)
  const profile = writeProfile(found, temporary, readPort(door()), network)
  return {
    ...command,
    program: '/usr/bin/sandbox-exec',
    args: ['-p', profile, command.program, ...command.args],
    env: { ...command.env, TMPDIR: temporary },
    sandboxed: true,
  }
}
