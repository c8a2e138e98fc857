/**
 * Pictures of every view of the page, to look at: `node scripts/look.ts <directory>`, with `--only now` for some.
 * Each at 1280 and 390 pixels and at 200 %, light and dark, on a server of its own with work in every state.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import type { ScriptedTurn } from '../src/adapters/scripted/run-function.ts'
import { tielineClient } from '../src/client/client.ts'
import { openServer } from '../src/open-server.ts'
import { fakeModel } from '../test/kits/fake-model.ts'

const [target = '', ...more] = process.argv.slice(2)
if (target === '' || target.startsWith('-'))
  throw new Error('usage: node scripts/look.ts <directory> [--only view]')
const only = more[0] === '--only' ? (more[1] ?? '') : ''

type Turn = ScriptedTurn
const agent = (script: (turn: Turn) => Promise<string>, rest: object = {}) => ({
  tools: ['*'],
  allowSubAgentCalls: true,
  script,
  ...rest,
})
const untilStopped = ({ signal }: Turn): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
/** So that there is something to see between the beginning and the end. */
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const longName = 'the-agent-with-the-longest-name-of-all-of-them'

const agents = {
  planner: agent(async (turn) => {
    await turn.think('I have the file written first, and then checked.')
    const context = { last_messages: 3 }
    await turn.tool('sub_agent', { agent_name: 'coder', task: 'Write slugify.mjs with tests', context })
    await turn.tool('sub_agent', {
      agent_name: 'reviewer',
      task: 'Check slugify.mjs',
      allowed_tools: ['read'],
    })
    await turn.tool('sub_agent', { agent_name: 'nobody', task: 'Publish it' })
    return turn.think('`slugify.mjs` is **written and approved**.\n\n- handles umlauts\n- has 12 tests')
  }),
  coder: agent(async (turn) => {
    await turn.tool('write', { path: 'slugify.mjs', content: 'export const slugify = (text) => text' })
    await pause(900)
    return turn.think('slugify.mjs is there, with 12 tests.')
  }),
  reviewer: agent(async (turn) => {
    await turn.tool('read', { path: 'slugify.mjs' })
    await pause(600)
    return turn.think('Approved.')
  }),
  careful: agent(
    async (turn) => {
      await turn.think('The old build has to go before I can build again.')
      await turn.tool('shell', { command: 'rm -rf build && make -j8 all' })
      return 'Built.'
    },
    { ask: ['shell'] },
  ),
  failer: agent(async () => {
    throw new Error('no compiler was found in /usr/bin or anywhere else in PATH')
  }),
  lead: agent(async (turn) => {
    await turn.think('This is for somebody with patience.')
    await turn.tool('sub_agent', {
      agent_name: longName,
      task: 'Read all of the manuals, in order',
      timeout_seconds: 200,
    })
    return 'x'
  }),
  [longName]: agent(async (turn) => {
    await turn.tool('write', { path: 'notes.md', content: 'x' })
    turn.say('Chapter one is about wires, and I am still in the middle of it. ')
    return untilStopped(turn)
  }),
}

const day = Math.ceil(Date.now() / 1000) + 86_400
/** A model that is paid for, and one on a plan that is nearly used up. */
const paid = await fakeModel([
  {
    text: 'The changelog has three new lines.',
    usage: { input: 41_000, output: 2100 },
    headers: {
      'anthropic-ratelimit-unified-5h-utilization': '0.83',
      'anthropic-ratelimit-unified-5h-reset': String(day - 80_000),
      'anthropic-ratelimit-unified-7d-utilization': '0.31',
      'anthropic-ratelimit-unified-7d-reset': String(day),
    },
  },
])
process.env['FAKE_MODEL_KEY'] = 'sk-test-0123456789abcdef'
const cwd = mkdtempSync(join(tmpdir(), 'tieline-look-'))
const config = join(cwd, 'look.json')
const provider = { kind: 'anthropic', baseURL: paid.url, apiKeyEnv: 'FAKE_MODEL_KEY' }
writeFileSync(
  config,
  JSON.stringify({
    providers: { anthropic: provider },
    agents: {
      writer: { model: 'anthropic/claude-sonnet-4-5', description: 'Writes what others read.' },
      editor: { model: 'anthropic/claude-haiku-4-5' },
    },
  }),
)
const served = await openServer({
  agents,
  config,
  dataDir: join(cwd, 'data'),
  cwd,
  port: 0,
  onWarning: () => undefined,
})
const client = tielineClient({ url: served.url })
const ask = async (name: string, initialMessage: string, title?: string): Promise<string> =>
  (
    await client.sessions.create({
      cwd,
      agent: name,
      initialMessage,
      ...(title === undefined ? {} : { title }),
    })
  ).sessionId

/** Something of everything. */
async function fill(): Promise<{ session: string; flow: string; live: string }> {
  const session = await ask('planner', 'House rules: small commits, tests first.')
  await client.sessions.wait(session)
  await client.sessions.send(session, { message: 'Build a function that turns titles into slugs.' })
  await client.sessions.wait(session)
  await client.sessions.fork(session)
  await client.sessions.wait(await ask('failer', 'Compile the kernel'))
  await client.sessions.wait(await ask('writer', 'Write down what is new in this version'))
  await client.sessions.wait(await ask('editor', 'Read it again'))
  await ask('careful', 'Build it from scratch, and do not forget the documentation')
  await ask('lead', 'Learn everything about telegraphs')
  await client.mail
    .send({ from: session, to: 'ses_user', message: 'Shall I also publish it?' } as never)
    .catch(() => undefined)
  let live = ''
  for (let tries = 0; tries < 100 && live === ''; tries += 1) {
    const { flows } = await client.flows({ state: 'live' })
    const found = flows.find(({ agent: name }) => name === 'lead')
    if (found !== undefined && found.calls > 0) live = found.flow
    else await pause(50)
  }
  const { flows } = await client.flows({})
  return { session, live, flow: flows.find(({ title }) => title.startsWith('Build a function'))?.flow ?? '' }
}

const findFlow = async (start: string): Promise<string> =>
  (await client.flows({})).flows.find(({ title }) => title.startsWith(start))?.flow ?? ''

const shapes = {
  wide: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, deviceScaleFactor: 1 },
  // What a browser at 200 % leaves of 1280 pixels.
  zoom: { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
} as const

async function take(browser: Browser, views: Record<string, string>): Promise<string[]> {
  const wide: string[] = []
  for (const [shape, settings] of Object.entries(shapes))
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ ...settings, colorScheme })
      const page = await context.newPage()
      for (const [name, hash] of Object.entries(views)) {
        if (only !== '' && !name.startsWith(only)) continue
        await page.goto(`${served.url}/${hash}`)
        await page.waitForLoadState('networkidle').catch(() => undefined)
        await page.locator('.loading').first().waitFor({ state: 'hidden' })
        await page.waitForTimeout(500)
        if (name === 'numbers-cost')
          await page.getByText('Limits that agents').first().scrollIntoViewIfNeeded()
        const over = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
        if (over > 0) wide.push(`${name} at ${shape}: ${over} px wider than the window`)
        await page.screenshot({ path: join(resolve(target), `${name}-${shape}-${colorScheme}.png`) })
      }
      await context.close()
    }
  return wide
}

mkdirSync(resolve(target), { recursive: true })
const browser = await chromium.launch({
  executablePath: process.env['TIELINE_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
try {
  const { session, flow, live } = await fill()
  const [call] = await client.calls.list({ session, limit: 1 })
  const first = (await client.flow(flow)).calls[0]?.call ?? call?.call ?? ''
  const wide = await take(browser, {
    now: '#/now',
    sessions: '#/sessions',
    conversation: `#/sessions/${session}`,
    flows: '#/flows',
    flow: `#/flows/${flow}`,
    'flow-call': `#/flows/${flow}?call=${first}`,
    'flow-graph': `#/flows/${flow}?shape=graph`,
    'flow-live': `#/flows/${live}`,
    waits: '#/waits',
    inbox: '#/inbox',
    numbers: '#/numbers',
    start: '#/start',
    'flow-paid': `#/flows/${await findFlow('Write down')}`,
    'numbers-cost': '#/numbers?range=24h',
    missing: '#/flows/flow_nothing',
  })
  console.log(wide.length === 0 ? 'Nothing is wider than its window.' : wide.join('\n'))
} finally {
  await browser.close()
  await served.close()
  await paid.close()
  rmSync(cwd, { recursive: true, force: true })
}
