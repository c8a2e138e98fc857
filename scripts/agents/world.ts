/**
 * One home in which all five programs are installed as a user would have them: our entries written by
 * `tieline init`, our program on the PATH, and a server that the first of them starts.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import {
  fakeModel,
  type FakeModel,
  type FakeRequest,
  type FakeRule,
  type FakeTool,
} from '../../test/kits/fake-model.ts'
import { buildOnce, cleanEnv, putTieline, startProcess, type Ran } from './process.ts'
import { agentPrograms, type AgentPlace, type AgentProgram } from './programs.ts'

export const secret = 'tangerine'
const waitMsMax = 60_000

/** Models are asked for titles beside the work: what was scripted for that must not be used up. */
const titleRules: readonly FakeRule[] = [
  { when: { system: /title generator/i }, text: 'A title' },
  { when: { user: /Do not answer the request/ }, text: 'A title' },
]

/** Before everything that was scripted so far. */
export const addRules = ({ fake }: Pick<World, 'fake'>, ...rules: FakeRule[]): void =>
  void fake.rules.splice(titleRules.length, 0, ...rules)

export type World = AgentPlace & {
  fake: FakeModel
  /** A directory of a project, made at first use. */
  directory(name: string): string
  tieline(...args: string[]): Promise<Ran>
  /** The server that runs, or null. */
  server(): { url: string; pid: number } | null
  client(): TielineClient
  close(): Promise<void>
}

/** `clients` as `tieline init` names them. */
export async function openWorld(clients: readonly string[] = ['all']): Promise<World> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'tieline-clients-')))
  const fake = await fakeModel([...titleRules, { text: 'ok' }], { toolRoundsMax: 1000 })
  const place = { home, model: fake.url }
  buildOnce()
  putTieline(home)
  mkdirSync(join(home, '.config', 'tieline'), { recursive: true })
  writeFileSync(join(home, '.config', 'tieline', 'tieline.toml'), configuration)
  for (const program of agentPrograms) program.prepare(place)
  const env = cleanEnv(place)
  const serverFile = join(home, '.local', 'share', 'tieline', 'server.json')
  const server = (): { url: string; pid: number } | null =>
    existsSync(serverFile)
      ? (JSON.parse(readFileSync(serverFile, 'utf8')) as { url: string; pid: number })
      : null
  const tieline = (...args: string[]): Promise<Ran> =>
    startProcess({ command: join(home, 'bin', 'tieline'), args }, { cwd: home, env }).ended
  const written = await tieline('init', '--client', clients.join(','), '--user', '--yes')
  if (written.code !== 0) throw new Error(`tieline init: ${written.out}${written.err}`)
  return {
    ...place,
    fake,
    server,
    tieline,
    directory(name) {
      mkdirSync(join(home, name), { recursive: true })
      return join(home, name)
    },
    client() {
      const running = server()
      if (running === null) throw new Error('no server runs')
      // With it nobody has to be told apart by the connection, which takes long on a busy machine.
      const token = join(dirname(serverFile), 'token')
      return tielineClient({
        url: running.url,
        token: existsSync(token) ? readFileSync(token, 'utf8').trim() : null,
      })
    },
    async close() {
      if (server() !== null) await tieline('stop')
      await fake.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
}

const configuration = `[server]
port = 0

[agents.coder]
description = "knows the secret word"
driver = "scripted"
script = [{ say = "The secret word is ${secret}." }]

[agents.sleeper]
description = "never answers"
driver = "scripted"
script = [{ hang = true }]
`

/** One round of a scripted turn: a tool of ours, with an input that may look at the results so far. */
export type Round = { tool: string; input: object | ((asked: FakeRequest) => object) }

/** The model of a program uses these tools one after the other when it is asked this, and then says `end`. */
export function scriptTurn(
  { fake }: World,
  program: AgentProgram,
  prompt: string,
  rounds: readonly Round[],
  end: string,
): void {
  const tools = rounds.map(({ tool, input }, results) => ({
    when: { user: prompt, results },
    tools: [{ ...program.nameTool(tool), input } satisfies FakeTool],
  }))
  addRules({ fake }, ...tools, { when: { user: prompt, results: rounds.length }, text: end })
}

/** The requests of the turn that this prompt began; side requests such as titles have no tools. */
export const listRequests = ({ fake }: World, prompt: string): FakeRequest[] =>
  fake.requests.filter(
    ({ user, body }) => user.includes(prompt) && JSON.stringify(body['tools'] ?? []) !== '[]',
  )

export async function waitFor<T>(
  what: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
): Promise<T> {
  for (
    const end = Date.now() + waitMsMax;
    Date.now() < end;
    await new Promise((resolve) => setTimeout(resolve, 100))
  ) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
  }
  throw new Error(`${what}: not there after ${waitMsMax / 1000} s`)
}
