/** Claude Code, Codex and OpenCode as a person has them open: each in a terminal of its own, with one session. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TielineClient } from '../../src/client/client.ts'
import type { Session } from '../../src/wire/sessions.ts'
import type { WireName } from '../../test/kits/fake-model-wires.ts'
import { findLeftOver } from './left-over.ts'
import { agentPrograms, type AgentId, type AgentProgram } from './programs.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import { addRules, waitFor, type World } from './world.ts'

export type OpenId = 'claude' | 'codex' | 'opencode'

export type OpenProgram = {
  id: OpenId
  /** What its model speaks: rules for one do not fit another. */
  wire: WireName
  terminal: Terminal
  directory: string
  session: string
  /** As its model sees a tool of ours. */
  nameTool(tool: string): { name: string; namespace?: string }
  /** Types a prompt. */
  ask(text: string): Promise<void>
  /** Ends the program as a person would, and with it what keeps its conversations open. */
  leave(): Promise<void>
  /** Opens it again: the same conversation, or a new one in the same directory. */
  reopen(how: 'resume' | 'new'): Promise<void>
}

const wires: Record<OpenId, WireName> = { claude: 'anthropic', codex: 'responses', opencode: 'chat' }
/** As its sessions are named at the server. */
const prefixes: Record<OpenId, string> = {
  claude: 'ses_client-claude-code_',
  codex: 'ses_client-codex-mcp-client_',
  opencode: 'ses_opencode-',
}
/** Keys that come too fast are taken for a paste, in which Enter is a new line. */
const typedMs = 700
/** How long a terminal has to show what was typed, and a program that has taken it. */
const shownMs = 4000
const takenMs = 20_000

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const find = (id: AgentId): AgentProgram => {
  const found = agentPrograms.find((program) => program.id === id)
  if (found === undefined) throw new Error(id)
  return found
}

/** Nothing but the prompt: no question about the directory, none before a tool is used. */
const prepare: Record<OpenId, (world: World, directory: string) => void> = {
  claude(world, directory) {
    const file = join(world.home, '.claude.json')
    const known = JSON.parse(readFileSync(file, 'utf8')) as { projects?: object }
    const projects = { ...known.projects, [directory]: { hasTrustDialogAccepted: true } }
    writeFileSync(file, JSON.stringify({ ...known, projects }))
    find('claude').addHooks?.(world)
  },
  codex(world, directory) {
    const file = join(world.home, '.codex', 'config.toml')
    const before = readFileSync(file, 'utf8')
    writeFileSync(file, `approval_policy = "never"\nsandbox_mode = "danger-full-access"\n${before}`)
    appendFileSync(file, `\n[projects."${directory}"]\ntrust_level = "trusted"\n`)
  },
  opencode: () => undefined,
}

const commands: Record<OpenId, (more: readonly string[]) => { command: string; args: string[] }> = {
  claude(more) {
    const { command, args } = find('claude').ask('')
    return { command, args: [args[0] ?? '', '--allowedTools', 'mcp__tieline', ...more] }
  },
  codex(more) {
    const { command, args } = find('codex').ask('')
    return { command, args: [args[0] ?? '', ...more] }
  },
  opencode: (more) => ({ command: find('opencode').ask('').command, args: [...more] }),
}

/** Opens a terminal without waiting for anything. */
export function openProgramTerminal(
  world: World,
  id: OpenId,
  directory: string,
  more: readonly string[] = [],
) {
  return openTerminal(world, `${id}-${(terminals += 1)}`, commands[id](more), {
    cwd: directory,
    env: find(id).env(world),
  })
}
let terminals = 0

/** How each is told to go on with a conversation, by its own id. */
const resumes: Record<OpenId, (own: string) => string[]> = {
  claude: (own) => ['--resume', own],
  codex: (own) => ['resume', own],
  opencode: (own) => ['--session', own],
}
const leaves: Record<OpenId, string> = { claude: '/exit', codex: '/quit', opencode: '/exit' }

/** Its session is there and rests. Codex and OpenCode have none before they were asked something. */
export async function openProgram(world: World, client: TielineClient, id: OpenId): Promise<OpenProgram> {
  const directory = world.directory(`open-${id}`)
  prepare[id](world, directory)
  const program: OpenProgram = {
    id,
    wire: wires[id],
    terminal: openProgramTerminal(world, id, directory),
    directory,
    session: '',
    // The plugin names its tools as we do.
    nameTool: (tool) => (id === 'opencode' ? { name: tool } : find(id).nameTool(tool)),
    ask: (text) => enter(program, text, () => wasAsked(world, wires[id], text)),
    async leave() {
      await enter(program, leaves[id], () => !program.terminal.isOpen())
      // Codex has them in a daemon, in which they go on without a terminal.
      for (const { pid, line } of id === 'codex' ? findLeftOver(world.home) : [])
        if (line.includes('app-server')) process.kill(pid, 'SIGTERM')
    },
    async reopen(how) {
      const more = how === 'new' ? [] : resumes[id](program.session.slice(prefixes[id].length))
      program.terminal.close()
      program.terminal = openProgramTerminal(world, id, directory, more)
    },
  }
  try {
    if (id !== 'claude') {
      const hello = `Hello ${id}, rest now.`
      addRules(world, { when: { user: hello, wire: wires[id] }, text: `I rest, says ${id}.` })
      await program.ask(hello)
      await waitFor(`${id} answers`, () => program.terminal.screen().includes(`I rest, says ${id}`))
    }
    program.session = (await waitForRest(client, id)).id
    return program
  } catch (error) {
    console.log(program.terminal.screen())
    program.terminal.close()
    throw error
  }
}

const wasAsked = ({ fake }: World, wire: WireName, text: string): boolean =>
  fake.requests.some((asked) => asked.wire === wire && asked.user.includes(text))

/**
 * Types a line as a person does, who looks at the screen: not before there is a place for it, Enter only when it
 * stands there, and again where it was lost, since a program that still starts may draw a new place. What was taken
 * may be shown late. Another Enter in an empty line does nothing.
 */
async function enter({ id, terminal }: OpenProgram, text: string, isTaken: () => boolean): Promise<void> {
  const shows = (): boolean => terminal.screen().includes(text)
  const within = async (ms: number, look: () => boolean): Promise<boolean> => {
    for (const end = Date.now() + ms; Date.now() < end && !look();) await pause(100)
    return look()
  }
  await waitFor(`the screen of ${id}`, () => isReady(id, terminal.screen()))
  await waitFor(`${id} takes "${text}"`, async () => {
    if (isTaken()) return true
    if (!shows()) {
      terminal.type('C-u')
      terminal.type('-l', text)
      if (!(await within(shownMs, shows))) return false
      await pause(typedMs)
    }
    terminal.type('Enter')
    if (await within(shownMs, isTaken)) return true
    await within(takenMs, () => shows() || isTaken())
    return isTaken()
  })
}

/** Where a person could begin to type. */
const isReady = (id: OpenId, screen: string): boolean =>
  (id === 'codex' ? /›|▌|Ask Codex/ : id === 'claude' ? /❯|>/ : /Ask anything|┃/).test(screen)

export const waitForRest = (client: TielineClient, id: OpenId): Promise<Session> =>
  waitFor(`${id} is open, rests and can be woken`, async () => {
    const { sessions } = await client.sessions.list({})
    return sessions.find(
      (one) => one.id.startsWith(prefixes[id]) && one.presence === 'idle' && one.wakeable && !one.active,
    )
  })

export const rests = (client: TielineClient, { session, id }: OpenProgram): Promise<boolean> =>
  waitFor(`${id} rests`, async () => {
    const { presence, wakeable, active } = await client.sessions.get(session)
    return presence === 'idle' && wakeable && !active
  })
