/**
 * The OpenCode plugin. Sessions of opencode can be written to and called like any others, and have our tools.
 * It owns nothing: everything is at the local server, which it finds, or starts in the background.
 */
import { surroundings } from '../../client/surroundings.ts'
import { faultMessage } from '../../model/contained.ts'
import { isCapability, turnVariable } from '../../model/turn-variable.ts'
import { toolAnswers } from '../../wire/tools.ts'
import { DeliveredTurns } from './delivered-turns.ts'
import { findServer } from './find-server.ts'
import { KnownSessions } from './known-sessions.ts'
import { offeredTools } from './offered-tools.ts'
import { OpenNews } from './open-news.ts'
import type { Hooks, OpencodeClient, OpencodeSession, PluginInput } from './opencode-api.ts'
import { OwnPrompts } from './own-prompts.ts'
import { serverLink, type ServerLink } from './server-link.ts'
import { ToolTracing } from './tool-tracing.ts'

export type TielinePluginOptions = {
  /** The name of opencode among the agents; `opencode` unless given. */
  agent?: string
  /** A server that runs elsewhere; none is started then. */
  server?: string
  dataDir?: string
  /** Whether uses of opencode's own tools are recorded; the default is true. */
  tracing?: boolean
}

/** How long a prompt waits for its session to be known; then it goes on without. */
const knownMsMax = 3000

export async function tielinePlugin(
  { client: opencode, directory }: PluginInput,
  options: TielinePluginOptions = {},
): Promise<Partial<Hooks>> {
  // A turn of ours has started this opencode, and has given it our tools already.
  if (isCapability(process.env[turnVariable] ?? '')) return {}
  const report = createReporter(opencode)
  const reportFault = (error: unknown): void => report(faultMessage(error))
  const agent = options.agent ?? 'opencode'
  const prompts = new OwnPrompts({ opencode, surroundings })
  const turns = new DeliveredTurns({ opencode, prompts, surroundings, report })
  const link: ServerLink = serverLink({
    find: (start) =>
      findServer(
        { cwd: directory, env: process.env, server: options.server, dataDir: options.dataDir, surroundings },
        start,
      ),
    ask: {
      agent,
      description: 'OpenCode, with its own tools, in a directory of this machine',
      // All that concern agents and sessions. Which of them are shown is the server's configuration.
      tools: Object.keys(toolAnswers),
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
    const news = new OpenNews({ opencode, prompts, sessions, link, surroundings, report })
    const tracing = options.tracing === false ? null : new ToolTracing({ sessions, report })
    const schemas = new Map(specs.map(({ name, input }) => [name, input]))
    // Not awaited: opencode answers nothing before its plugins are there.
    void sessions.begin().catch(reportFault)
    return {
      tool: offeredTools(specs, { opencode, sessions, turns, report }),
      async 'tool.definition'({ toolID }, output) {
        const schema = schemas.get(toolID)
        if (schema !== undefined) output.jsonSchema = schema
      },
      ...makeHooks({ link, prompts, sessions, turns, news, tracing, reportFault }),
    }
  } catch (error) {
    link.close()
    report(`not available here: ${faultMessage(error)}`)
    return {}
  }
}

type Parts = {
  link: ServerLink
  prompts: OwnPrompts
  sessions: KnownSessions
  turns: DeliveredTurns
  news: OpenNews
  tracing: ToolTracing | null
  reportFault: (error: unknown) => void
}
type EventHooks = Omit<Hooks, 'tool' | 'tool.definition'>

const makeHooks = ({ link, prompts, sessions, turns, news, tracing, reportFault }: Parts): EventHooks => ({
  async dispose() {
    news.close()
    link.close()
  },
  async event({ event }) {
    prompts.handle(event)
    turns.handle(event)
    tracing?.handle(event)
    const session = event.properties['info'] as OpencodeSession
    if (event.type === 'session.created') void sessions.created(session).catch(reportFault)
    if (event.type === 'session.updated') sessions.updated(session)
    const resting = event.type === 'session.idle' ? String(event.properties['sessionID']) : ''
    if (news.isWatched(resting)) void news.rested(resting, () => turns.has(resting)).catch(reportFault)
    if (event.type === 'session.deleted') news.forget(session.id)
    if (event.type === 'session.deleted') void sessions.deleted(session.id).catch(reportFault)
  },
  async 'chat.message'({ sessionID }, { message, parts }) {
    if (turns.begun(sessionID, message.id, parts) || sessions.isAside(sessionID)) return
    const said = await prompts.enter(sessionID, async () => {
      sessions.claim(sessionID)
      const taken = sessions.taken(sessionID).catch(reportFault)
      await Promise.race([taken, surroundings.sleep(knownMsMax)])
      return news.read(sessionID, 'prompted')
    })
    // The server has heard of the prompt by now, and starts nothing in the middle of it.
    news.watch(sessionID)
    const text = parts.find((part) => part.type === 'text')
    if (said !== '' && text !== undefined) text.text = `${text.text ?? ''}\n\n${said}`
  },
  async 'tool.execute.after'({ sessionID }, output) {
    const said = news.isWatched(sessionID) ? await news.read(sessionID, 'used') : ''
    if (said !== '') output.output = `${output.output}\n\n${said}`
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
const createReporter =
  (opencode: OpencodeClient) =>
  (text: string): void => {
    const message = `Tieline: ${text}`
    void opencode.app.log({ body: { service: 'tieline', level: 'warn', message } }).catch(() => undefined)
    void opencode.tui.showToast({ body: { message, variant: 'warning' } }).catch(() => undefined)
  }

export default { id: 'tieline', server: tielinePlugin }
