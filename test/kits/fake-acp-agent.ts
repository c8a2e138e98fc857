/**
 * An agent that speaks ACP over its pipes, as a process of its own, with every shape and fault that real ones
 * showed. It knows no vendor, no model and no network but the MCP server that it is given.
 *
 * What it does stands in the variable FAKE_ACP, as JSON (`FakeAcp`), and in the text that it is asked: `say X`,
 * `think`, `plan`, `use TOKENS`, `edit FILE`, `ask` (for leave), `tool NAME JSON` (of the MCP server), `wait MS`,
 * `until FILE` (is in its home), `hang`, `die`, `child` (leaves one behind), `flood WHAT MEGABYTES PART` (of `text`,
 * `tools`, `plans`, `leave` or `garbage`), each on its own line.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  describeAgent,
  describeUse,
  describeUsage,
  describeWords,
  flood,
  leaveOptions,
  type FakeAcp,
} from './fake-acp.ts'

/** What comes is what we send ourselves, in tests: its shape is not checked. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
type Loose = any
type Message = { id?: number | string; method?: string; params?: Loose; result?: Loose; error?: Loose }

const settings = JSON.parse(process.env['FAKE_ACP'] ?? '{"home":"."}') as FakeAcp
const { home } = settings
mkdirSync(home, { recursive: true })
const log = (entry: object): void => appendFileSync(join(home, 'log.jsonl'), `${JSON.stringify(entry)}\n`)
if (settings.ignoresSigterm === true) process.on('SIGTERM', () => log({ signal: 'SIGTERM' }))
log({ started: process.pid, argv: process.argv.slice(2), keys: Object.keys(process.env).filter(isKey) })

function isKey(name: string): boolean {
  return name.endsWith('_API_KEY')
}

const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
let requests = 0
const waiting = new Map<number, (message: Message) => void>()
const request = (method: string, params: object): Promise<Message> => {
  requests += 1
  const id = requests
  return new Promise((resolve) => {
    waiting.set(id, resolve)
    send({ id, method, params })
  })
}

type Session = { id: string; cwd: string; said: string[]; mcp: Loose }
const sessions = new Map<string, Session>()
const fileOf = (id: string): string => join(home, `${id}.json`)
const save = (session: Session): void => writeFileSync(fileOf(session.id), JSON.stringify(session))
const update = (session: Session, change: object): void =>
  send({ method: 'session/update', params: { sessionId: session.id, update: change } })
const say = (session: Session, text: string): void =>
  update(session, describeWords(text, settings.version !== undefined))

let counted = { inputTokens: 0, outputTokens: 0 }
let tools = 0
/** The prompt that runs: what it was told meanwhile, and whether it was cancelled. */
let running: { words: string[]; cancelled: boolean; wake: () => void } | null = null

async function connect(session: Session, method: string, params: object): Promise<Loose> {
  const headers = Object.fromEntries(session.mcp.headers.map((one: Loose) => [one.name, one.value]))
  const answer = await fetch(session.mcp.url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await answer.text()
  const data = text.split('\n').findLast((line) => line.startsWith('data:'))
  return JSON.parse(data === undefined ? text || '{}' : data.slice(5))
}

async function openSession(params: Loose, id: string): Promise<Session> {
  const known = existsSync(fileOf(id)) ? (JSON.parse(readFileSync(fileOf(id), 'utf8')) as Session) : null
  const session: Session = { id, cwd: params.cwd, said: known?.said ?? [], mcp: params.mcpServers[0] ?? null }
  sessions.set(id, session)
  save(session)
  if (session.mcp !== null && settings.connects !== false)
    await connect(session, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'fake-acp', version: '1' },
    }).catch((fault: unknown) => log({ mcp: String(fault) }))
  return session
}

const modes = () =>
  settings.modes === undefined
    ? {}
    : { modes: { currentModeId: 'usual', availableModes: settings.modes.map((id) => ({ id, name: id })) } }

type Leave = { kind: string; title: string; input: object }

async function askLeave(session: Session, what: Leave): Promise<boolean> {
  tools += 1
  const toolCallId = `tool-${tools}`
  const whole = { toolCallId, title: what.title, kind: what.kind, rawInput: what.input, status: 'pending' }
  if (settings.asksFirst !== true) update(session, { sessionUpdate: 'tool_call', ...whole })
  const { result } = await request('session/request_permission', {
    sessionId: session.id,
    toolCall: settings.bareRequests === true ? { toolCallId, kind: what.kind, status: 'pending' } : whole,
    options: leaveOptions,
  })
  log({ asked: what.title, outcome: result?.outcome })
  const isAllowed = result?.outcome?.outcome === 'selected' && result.outcome.optionId !== 'no'
  update(session, {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: isAllowed ? 'completed' : 'failed',
    content: [{ type: 'content', content: { type: 'text', text: isAllowed ? 'done' : 'not allowed' } }],
  })
  return isAllowed
}

const sayLeave = async (session: Session, what: Leave, yes = 'allowed'): Promise<void> =>
  say(session, (await askLeave(session, what)) ? `${yes}\n` : 'denied\n')

async function act(session: Session, line: string): Promise<void> {
  const [verb = '', ...rest] = line.replace(/^Task: /, '').split(' ')
  const argument = rest.join(' ')
  switch (verb) {
    case 'say':
      return say(session, `${argument}\n`)
    case 'think':
      return update(session, { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'hm' } })
    case 'plan':
      return update(session, {
        sessionUpdate: 'plan',
        entries: [{ content: argument || 'one', priority: 'high', status: 'pending' }],
      })
    case 'use':
      return update(session, describeUse(argument))
    case 'edit':
      return edit(session, argument)
    case 'ask':
      return sayLeave(session, { kind: 'execute', title: argument || 'rm -rf', input: {} })
    case 'read':
      return sayLeave(session, { kind: 'read', title: argument, input: {} }, 'read')
    case 'own':
      return sayLeave(session, { kind: 'other', title: `mcp__tieline__${argument}`, input: {} })
    case 'tool': {
      const [name = '', ...json] = rest
      const answer = await connect(session, 'tools/call', {
        name,
        arguments: JSON.parse(json.join(' ') || '{}'),
      })
      return say(session, `${answer.result?.content?.[0]?.text ?? JSON.stringify(answer)}\n`)
    }
    case 'wait':
      await Promise.race([sleep(Number(argument)), cancelled()])
      return
    case 'until':
      while (!existsSync(join(home, argument)) && running?.cancelled !== true) await sleep(20)
      return
    case 'hang':
      return cancelled()
    case 'child': {
      const child = spawn('sleep', ['600'], { stdio: 'ignore' })
      log({ child: child.pid })
      return
    }
    case 'flood':
      return flood(rest, session.id, () => running?.cancelled === true)
    case 'die':
      process.exit(3)
  }
}

const cancelled = (): Promise<void> =>
  new Promise((resolve) => {
    if (running?.cancelled === true) resolve()
    else if (running !== null) running.wake = resolve
  })

function edit(session: Session, path: string): void {
  tools += 1
  const toolCallId = `tool-${tools}`
  const start = {
    toolCallId,
    title: `Edit ${path}`,
    kind: 'edit',
    status: 'in_progress',
    locations: [{ path }],
  }
  update(session, { sessionUpdate: 'tool_call', ...start, rawInput: { path } })
  writeFileSync(join(session.cwd, path), 'new\n')
  update(session, {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: 'completed',
    content: [{ type: 'diff', path, oldText: null, newText: 'new\n' }],
  })
}

async function prompt(params: Loose): Promise<object> {
  const session = sessions.get(params.sessionId) as Session
  const text = params.prompt.map((part: Loose) => part.text).join('\n') as string
  const count = existsSync(join(home, 'prompts'))
    ? Number(readFileSync(join(home, 'prompts'), 'utf8')) + 1
    : 1
  writeFileSync(join(home, 'prompts'), String(count))
  log({ prompt: text, count, session: session.id })
  if (settings.adapterSays !== undefined) {
    update(session, describeWords(settings.adapterSays, false))
    return { stopReason: 'end_turn' }
  }
  if (settings.overLimit === true) throw new Error('You have hit your usage limit. Try again at 5pm.')
  running = { words: [], cancelled: false, wake: () => undefined }
  if (settings.diesAt === count) {
    say(session, 'half\n')
    await sleep(20)
    process.exit(3)
  }
  for (const line of text.split('\n')) {
    if (running.cancelled) break
    await act(session, line)
    for (const word of running.words.splice(0)) for (const more of word.split('\n')) await act(session, more)
  }
  session.said.push(text)
  save(session)
  const isCancelled = running.cancelled
  running = null
  if (isCancelled && settings.cancelAnswer === 'none') await new Promise(() => undefined)
  counted = { inputTokens: counted.inputTokens + 100, outputTokens: counted.outputTokens + 10 }
  return {
    stopReason: isCancelled && settings.cancelAnswer !== 'end_turn' ? 'cancelled' : 'end_turn',
    ...describeUsage(settings.usage ?? 'turn', counted),
  }
}

async function answer({ method = '', params }: Message): Promise<object | null> {
  if (method === settings.mute) return new Promise(() => undefined)
  switch (method) {
    case 'initialize':
      return describeAgent(settings)
    case 'session/new': {
      if (settings.loggedOut === true)
        throw Object.assign(new Error('Authentication required'), { code: -32_000 })
      const { id } = await openSession(params, `fake-${process.pid}-${sessions.size + 1}`)
      log({ new: id, cwd: params.cwd, servers: params.mcpServers.length })
      return { sessionId: id, ...modes() }
    }
    case 'session/load': {
      if (!existsSync(fileOf(params.sessionId))) throw new Error('no such session')
      const session = await openSession(params, params.sessionId)
      log({ load: session.id })
      const replay = (): void => session.said.forEach((text) => say(session, `old: ${text}\n`))
      if (settings.lateChunks === true) setTimeout(replay, 100)
      else replay()
      return modes()
    }
    case 'session/set_mode':
      log({ mode: params.modeId })
      return {}
    case 'session/prompt':
      return prompt(params)
    case '_session/steering':
      if (settings.steers !== true) throw Object.assign(new Error('no such method'), { code: -32_601 })
      log({ steered: params.prompt[0].text })
      running?.words.push(params.prompt[0].text)
      return { outcome: running === null ? 'promptRequired' : 'injected' }
    case 'session/cancel':
      log({ cancelled: true })
      if (running !== null) {
        running.cancelled = true
        running.wake()
      }
      return null
    default:
      throw Object.assign(new Error(`no such method: ${method}`), { code: -32_601 })
  }
}

if (settings.garbage === true) process.stdout.write('Welcome to the fake agent!\n{not json\n')
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Message
  if (message.method === undefined) return waiting.get(Number(message.id))?.(message)
  answer(message).then(
    (result) => (message.id === undefined ? undefined : send({ id: message.id, result: result ?? {} })),
    (fault: { code?: number; message: string }) =>
      message.id === undefined
        ? undefined
        : send({ id: message.id, error: { code: fault.code ?? -32_603, message: fault.message } }),
  )
  if (settings.garbage === true) process.stdout.write('warning: something\n')
})
process.stdin.on('end', () => (settings.ignoresSigterm === true ? undefined : process.exit(0)))
if (settings.ignoresSigterm === true) setInterval(() => undefined, 1000)
