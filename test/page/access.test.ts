/** Accessibility: axe finds nothing serious in any view, keys are enough, and it stays readable at 200 %. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createAgent,
  createGates,
  isBlind,
  launch,
  openPage,
  openSite,
  type Site,
  type Turn,
} from '../kits/page.ts'

const patience = 120_000

const richText = [
  '# Done',
  '- one\n- [x] two',
  '> quoted',
  '| a | b |\n| - | - |\n| 1 | 2 |',
  '```ts\nconst a = 1\n```',
  '[a link](https://example.org)',
].join('\n\n')
const gate = createGates()

let browser: Browser
let site: Site
let session = ''
let flow = ''
beforeAll(async () => {
  if (isBlind) return
  browser = await launch()
  site = await openSite({
    planner: createAgent(async (turn: Turn) => {
      await turn.tool('write', { path: 'a.txt', content: 'x' })
      await turn.tool('sub_agent', { agent_name: 'coder', task: 'Write it.', context: { last_messages: 4 } })
      await turn.tool('sub_agent', { agent_name: 'nobody', task: 'Who?' })
      return turn.think(richText)
    }),
    coder: createAgent((turn: Turn) => turn.think('Written.')),
    failer: createAgent(() => {
      throw new Error('it broke')
    }),
    careful: createAgent(
      async (turn: Turn) => {
        await turn.tool('shell', { command: 'make' })
        return 'x'
      },
      { ask: ['shell'] },
    ),
    slow: createAgent(async (turn: Turn) => {
      await turn.tool('sub_agent', { agent_name: 'slower', task: 'Wait.' })
      return 'x'
    }),
    slower: createAgent(async (turn: Turn) => {
      await gate.wait('never', turn.signal)
      return 'x'
    }),
  })
  const { client, cwd } = site
  session = (
    await client.sessions.create({
      cwd,
      agent: 'planner',
      title: 'Planned',
      initialMessage: 'House rules: none.',
    })
  ).sessionId
  await client.sessions.wait(session)
  flow = (
    await client.sessions.send(session, { message: 'From an applet', source: 'applet', applet: 'Notes' })
  ).flow as string
  await client.sessions.wait(session)
  await client.sessions.create({
    cwd,
    agent: 'failer',
    title: 'Broken',
    initialMessage: 'Try.',
    parent: session,
  })
  await client.sessions.create({ cwd, agent: 'careful', title: 'Careful', initialMessage: 'Try.' })
  await client.sessions.create({ cwd, agent: 'slow', title: 'Slow', initialMessage: 'Try.' })
  await gate.reached('never')
  await client.sessions.send(session, { message: 'A letter', delivery: 'buffer' })
  await client.mail.send({ message: 'A draft', session, draft: true })
}, patience)
afterAll(async () => {
  await browser?.close()
  await site?.stop()
})

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

const runAxe = `axe
  .run(document, { resultTypes: ['violations'] })
  .then(({ violations }) => violations.map(({ id, impact, nodes }) => ({
    id,
    impact,
    nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => ({ html, failureSummary })),
  })))`

/** What axe calls serious or critical, with where it is. */
async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const found = await page.evaluate<Violation[]>(runAxe)
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => {
      const places = nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} — ${failureSummary}`)
      return `${id}: ${places.join(' | ')}`
    })
}

const views: readonly { name: string; at: () => string; ready: (page: Page) => Promise<unknown> }[] = [
  {
    name: 'now',
    at: () => '#/now',
    ready: async (page) => {
      await page.locator('.need').first().waitFor()
      await page.locator('.now-flows').first().waitFor()
    },
  },
  {
    name: 'sessions',
    at: () => '#/sessions',
    ready: (page) => page.getByRole('link', { name: 'Planned' }).waitFor(),
  },
  {
    name: 'nothing found',
    at: () => '#/sessions?q=nothing',
    ready: (page) => page.getByText('No session fits.').waitFor(),
  },
  {
    name: 'conversation',
    at: () => `#/sessions/${session}`,
    ready: async (page) =>
      page
        .getByText(/tools: write/)
        .first()
        .click(),
  },
  {
    name: 'conversation that runs',
    at: () => '#/sessions?q=slow',
    ready: async (page) => {
      await page.getByRole('link', { name: 'Slow', exact: true }).click()
      await page.locator('.step-call summary').click()
    },
  },
  { name: 'flows', at: () => '#/flows', ready: (page) => page.locator('.flow-link').first().waitFor() },
  {
    name: 'flow',
    at: () => `#/flows/${flow}`,
    ready: async (page) => {
      await page.getByRole('button', { name: /^coder/ }).click()
      await page.getByText('tokens passed').waitFor()
    },
  },
  {
    name: 'graph',
    at: () => `#/flows/${flow}?shape=graph`,
    ready: (page) => page.locator('.node').first().waitFor(),
  },
  { name: 'waits', at: () => '#/waits', ready: (page) => page.locator('.ends').waitFor() },
  {
    name: 'questions',
    at: () => '#/inbox/questions',
    ready: (page) => page.getByRole('button', { name: 'Deny' }).waitFor(),
  },
  {
    name: 'mail',
    at: () => '#/inbox/mail',
    ready: (page) => page.getByRole('button', { name: 'Accept' }).waitFor(),
  },
  {
    name: 'drafts',
    at: () => '#/inbox/drafts',
    ready: (page) => page.getByRole('button', { name: 'Release' }).waitFor(),
  },
  {
    name: 'notices',
    at: () => '#/inbox/notices',
    ready: (page) => page.getByText('No notices.').or(page.locator('.card')).first().waitFor(),
  },
  {
    name: 'dead letters',
    at: () => '#/inbox/dead',
    ready: (page) => page.getByText('No dead letters.').waitFor(),
  },
  {
    name: 'numbers',
    at: () => '#/numbers',
    ready: async (page) => {
      await page.locator('.plot').first().waitFor()
      for (const summary of await page.locator('.plot summary').all()) await summary.click()
    },
  },
  {
    name: 'start',
    at: () => '#/start',
    ready: (page) => page.getByRole('button', { name: /Talk to planner/ }).waitFor(),
  },
  {
    name: 'a new session',
    at: () => '#/sessions',
    ready: (page) => page.getByRole('button', { name: 'New session' }).click(),
  },
  {
    name: 'keys',
    at: () => '#/sessions',
    ready: (page) => page.getByRole('button', { name: 'Keys and help' }).click(),
  },
  {
    name: 'no such session',
    at: () => '#/sessions/ses_none',
    ready: (page) => page.getByText('There is no such session.').waitFor(),
  },
]

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test.skipIf(isBlind)(
    'axe finds nothing serious in any view',
    async () => {
      const { page, faults } = await openPage(await browser.newContext({ colorScheme }), site.url)
      for (const { name, at, ready } of views) {
        await page.goto('about:blank')
        await page.goto(`${site.url}/${at()}`)
        await ready(page)
        expect({ name, violations: await findViolations(page) }).toEqual({ name, violations: [] })
      }
      expect(faults).toEqual([])
    },
    patience,
  )
})

test.skipIf(isBlind)(
  'keys are enough: move, open, search, write, go elsewhere, close',
  async () => {
    const { page } = await openPage(await browser.newContext(), site.url, '#/sessions')
    await page.getByRole('link', { name: 'Planned' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('planned')
    await page.getByText('1 session').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Planned' }).waitFor()
    await page.keyboard.press('c')
    await page.keyboard.type('typed')
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('typed')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).not.toContain(session)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await page.getByRole('heading', { name: 'Waits' }).waitFor()
    // The focus is always visible.
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).not.toBe('none')
  },
  patience,
)

test.skipIf(isBlind)(
  'at 200 % nothing runs out of the page sideways, and the text is still there',
  async () => {
    // A window of 1280 by 800 at 200 % is 640 by 400 CSS pixels.
    const { page } = await openPage(
      await browser.newContext({ viewport: { width: 640, height: 400 } }),
      site.url,
    )
    for (const { name, at, ready } of views.filter((view) => view.name !== 'conversation that runs')) {
      await page.goto('about:blank')
      await page.goto(`${site.url}/${at()}`)
      await ready(page)
      expect({
        name,
        wider: await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
      }).toEqual({ name, wider: 0 })
    }
  },
  patience,
)
