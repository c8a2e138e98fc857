/** A real server with scripted agents, and a real browser that shows its page. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { ScriptedTurn } from '../../src/adapters/scripted/run-function.ts'
import { openServer, type OpenServer, type OpenServerOptions } from '../../src/open-server.ts'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Null without a browser on this machine. The page tests are skipped then, with a warning. */
export const chromiumPath = findChromium()
export const isBlind = chromiumPath === null
if (isBlind)
  console.warn(
    'Page tests are skipped: there is no chromium in PATH, and TIELINE_CHROMIUM is not set.',
    'On Debian: apt-get install chromium',
  )

function findChromium(): string | null {
  const given = process.env['TIELINE_CHROMIUM']
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const paths = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
  return [...(given === undefined ? [] : [given]), ...paths].find((path) => existsSync(path)) ?? null
}

/** Builds the page again if one of its sources is newer. */
export function buildPage(): void {
  const built = join(root, 'web/dist/index.html')
  const newest = Math.max(
    ...['web/src', 'web/public', 'src/client', 'src/model', 'src/wire'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
        (name) => statSync(join(root, folder, name)).mtimeMs,
      ),
    ),
    statSync(join(root, 'web/index.html')).mtimeMs,
  )
  if (!existsSync(built) || statSync(built).mtimeMs < newest)
    execFileSync(process.execPath, [join(root, 'scripts/build-page.js')], { cwd: root, stdio: 'inherit' })
}

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-dev-shm-usage',
    ],
  })

type SessionRequest = Parameters<TielineClient['sessions']['create']>[0]

export type Site = {
  served: OpenServer
  client: TielineClient
  url: string
  cwd: string
  /** Opens a session in the directory of the site. */
  create(session: Omit<SessionRequest, 'cwd'>): ReturnType<TielineClient['sessions']['create']>
  stop(): Promise<void>
  /** Starts again with the same log on the same port; `whileAway` runs while there is no server. */
  restart(whileAway?: () => Promise<void>): Promise<void>
}

export async function openSite(
  agents: OpenServerOptions['agents'],
  options: Partial<OpenServerOptions> = {},
): Promise<Site> {
  buildPage()
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-page-'))
  const dataDir = join(cwd, 'data')
  const open = (port: number): Promise<OpenServer> =>
    openServer({
      ...(agents === undefined ? {} : { agents }),
      dataDir,
      port,
      cwd,
      limitsOfHttp: { requestsPerMinute: 1_000_000 },
      onWarning: () => undefined,
      ...options,
    })
  const served = await open(0)
  const url = served.url
  const client = tielineClient({ url })
  let stopped: Promise<void> | null = null
  const site: Site = {
    served,
    url,
    cwd,
    client,
    create: (session) => client.sessions.create({ cwd, ...session }),
    stop: () => (stopped ??= site.served.close()),
    async restart(whileAway) {
      await site.stop()
      await whileAway?.()
      site.served = await open(Number(new URL(url).port))
      stopped = null
    },
  }
  return site
}

/** One browser per file of tests. The pages and the site of a test are closed after it. */
export function useSite(patience: number): {
  newContext: Browser['newContext']
  newSite: typeof openSite
} {
  let browser: Browser | null = null
  let site: Site | null = null
  beforeAll(async () => {
    if (!isBlind) browser = await launch()
  }, patience)
  afterAll(() => browser?.close())
  afterEach(async () => {
    await Promise.all(browser?.contexts().map((context) => context.close()) ?? [])
    await site?.stop()
    site = null
  }, patience)
  return {
    newContext(...options) {
      if (browser === null) throw new Error('there is no browser')
      return browser.newContext(...options)
    },
    newSite: async (...what) => (site = await openSite(...what)),
  }
}

/** Opens a page and collects in `faults` everything that goes wrong in it. */
export async function openPage(
  context: BrowserContext,
  url: string,
  hash = '',
): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`pageerror: ${error.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    // The browser itself logs refused and lost connections.
    if (
      message.type() === 'error' &&
      !/ERR_CONNECTION|WebSocket connection|Failed to load resource/.test(message.text())
    )
      faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (new URL(request.url()).host !== new URL(url).host && !request.url().startsWith('data:'))
      faults.push(`request to elsewhere: ${request.url()}`)
  })
  await page.goto(`${url}/${hash}`)
  return { page, faults }
}

/** Scripted agents wait at gates that the test opens, so that nothing depends on speed. */
export type Gates = {
  wait(name: string, signal: AbortSignal): Promise<void>
  open(name: string): void
  reached(name: string): Promise<void>
}

export function createGates(): Gates {
  const gate = (): { open: () => void; opened: Promise<void> } => {
    const { promise, resolve } = Promise.withResolvers<void>()
    return { open: resolve, opened: promise }
  }
  const known = new Map<string, { entry: ReturnType<typeof gate>; arrival: ReturnType<typeof gate> }>()
  const ensureGate = (name: string) => {
    const found = known.get(name) ?? { entry: gate(), arrival: gate() }
    known.set(name, found)
    return found
  }
  return {
    async wait(name, signal) {
      const { entry, arrival } = ensureGate(name)
      arrival.open()
      await Promise.race([
        entry.opened,
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
        ),
      ])
    },
    open: (name) => ensureGate(name).entry.open(),
    reached: (name) => ensureGate(name).arrival.opened,
  }
}

export type Turn = ScriptedTurn

/** An agent that may do everything. */
export const createAgent = (script: (turn: Turn) => Promise<string> | string, more: object = {}) => ({
  tools: ['*'],
  allowSubAgentCalls: true,
  script,
  ...more,
})
