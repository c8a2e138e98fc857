/**
 * The OpenCode plugin. Sessions of opencode can be written to and called like any others, and have our tools.
 * It owns nothing: everything is at the local server, which it finds, or starts in the background.
 */
import { surroundings } from '../../client/surroundings.ts'
import { DeliveredTurns } from './delivered-turns.ts'
import { findServer } from './find-server.ts'
import { KnownSessions } from './known-sessions.ts'
import { offeredTools } from './offered-tools.ts'
import type { Hooks, OpencodeClient, OpencodeSession, PluginInput } from './opencode-api.ts'
import { serverLink, describeFault, type ServerLink } from './server-link.ts'
import { ToolTracing } from './tool-tracing.ts'

export type TielinePluginOptions = {
  /** The name of opencode among the agents; `opencode` unless given. */
  agent?: string
  /** A server that runs elsewhere; none is started then. */
  server?: string
  dataDir?: string
  /** Whether uses of opencode's own tools are written down; they are unless this is false. */
  tracing?: boolean
}

/** All that concern agents and sessions. Which of them are shown is the server's configuration. */
const toolNames = [
  'list-session',
  'send-message',
  'buffer',
  'sub_agent',
  'subagent',
  'call_agent',
  'wait_for_call',
  'read_output',
  'send_agent_message',
  'get_session_state',
  'create_agent_session',
  'wait_for_session',
]

/** How long a prompt waits for its session to be known; then it goes on without. */
const knownMsMax = 3000

export async function tielinePlugin(
  { client: opencode, directory }: PluginInput,
  options: TielinePluginOptions = {},
): Promise<Partial<Hooks>> {
  const report = reporter(opencode)
  const agent = options.agent ?? 'opencode'
  const turns = new DeliveredTurns({ opencode, surroundings, report })
  const link: ServerLink = serverLink({
    find: (start) =>
      findServer(
        { cwd: directory, env: process.env, server: options.server, dataDir: options.dataDir, surroundings },
        start,
      ),
    ask: {
      agent,
      description: 'OpenCode, with its own tools, in a directory of this machine',
      tools: toolNames,
      opens: { cwd: directory, open: (asked) => sessions.open(asked) },
      run: (turn) => turns.run(turn),
    },
    sessions: () => sessions.all(),
    surroundings,
    report,
  })
  const sessions = new KnownSessions({ opencode, directory, agent, link })
  try {
    const { client } = await link.reach()
    const specs = await client.tools.list({ agent })
    const schemas = new Map(specs.map(({ name, input }) => [name, input]))
    // Not awaited: opencode answers nothing before its plugins are there.
    void sessions.begin().catch((error: unknown) => report(describeFault(error)))
    return {
      tool: offeredTools(specs, { opencode, sessions, turns, report }),
      async 'tool.definition'({ toolID }, output) {
        const schema = schemas.get(toolID)
        if (schema !== undefined) output.jsonSchema = schema
      },
      ...hooksOf({
        link,
        sessions,
        turns,
        tracing: options.tracing === false ? null : new ToolTracing({ sessions, report }),
        report,
      }),
    }
  } catch (error) {
    link.close()
    report(`not available here: ${describeFault(error)}`)
    return {}
  }
}

type Parts = {
  link: ServerLink
  sessions: KnownSessions
  turns: DeliveredTurns
  tracing: ToolTracing | null
  report: (text: string) => void
}

const hooksOf = ({
  link,
  sessions,
  turns,
  tracing,
  report,
}: Parts): Omit<Hooks, 'tool' | 'tool.definition'> => ({
  dispose: async () => link.close(),
  async event({ event }) {
    turns.heed(event)
    tracing?.heed(event)
    const failed = (error: unknown): void => report(describeFault(error))
    if (event.type === 'session.created')
      void sessions.created(event.properties['info'] as OpencodeSession).catch(failed)
    if (event.type === 'session.updated') sessions.updated(event.properties['info'] as OpencodeSession)
    if (event.type === 'session.deleted')
      void sessions.deleted((event.properties['info'] as OpencodeSession).id).catch(failed)
  },
  async 'chat.message'({ sessionID }, { message, parts }) {
    if (turns.begun(sessionID, message.id, parts) || sessions.isAside(sessionID)) return
    sessions.claim(sessionID)
    await Promise.race([
      sessions.taken(sessionID).catch((error: unknown) => report(describeFault(error))),
      surroundings.sleep(knownMsMax),
    ])
  },
  async 'tool.execute.before'({ tool, sessionID, callID }, { args }) {
    tracing?.begun(sessionID, callID, tool, args)
  },
  async 'experimental.chat.system.transform'({ sessionID }, { system }) {
    const name = sessionID === undefined ? null : sessions.nameOf(sessionID)
    // Titles are made by a model too, which has nobody to write to.
    if (name !== null && !/title generator/i.test(system[0] ?? ''))
      system.push(`To other agents and sessions you are session ${name}.`)
  },
})

/** In opencode's log, and shown where somebody looks. */
const reporter =
  (opencode: OpencodeClient) =>
  (text: string): void => {
    const message = `Tieline: ${text}`
    void opencode.app.log({ body: { service: 'tieline', level: 'warn', message } }).catch(() => undefined)
    void opencode.tui.showToast({ body: { message, variant: 'warning' } }).catch(() => undefined)
  }

export default { id: 'tieline', server: tielinePlugin }
