/** No text of an agent, a user or a file ever runs in the page, wherever it is shown. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAgent, isBlind, launch, openPage, openSite, type Site, type Turn } from '../kits/page.ts'
import { payloads } from './payloads.ts'

const patience = 120_000

let browser: Browser
let site: Site
beforeAll(async () => {
  if (isBlind) return
  browser = await launch()
  site = await openSite({
    parrot: createAgent(async (turn: Turn) => {
      await turn.tool('write', { path: 'said.txt', content: turn.task })
      await turn.tool('read', { path: 'said.txt' })
      turn.say(turn.task)
      await turn.tool('sub_agent', {
        agent_name: 'mirror',
        task: `Mirror this: ${turn.task}`,
        input: { text: turn.task },
        context: { last_messages: 2, include_workspace: true },
      })
      await turn.tool('sub_agent', { agent_name: turn.task.slice(0, 60), task: turn.task })
      return turn.think(turn.task)
    }),
    mirror: createAgent((turn: Turn) => turn.think(turn.task)),
    careful: createAgent(
      async (turn: Turn) => {
        await turn.tool('shell', { command: turn.task })
        return 'x'
      },
      { ask: ['shell'] },
    ),
  })
}, patience)
afterAll(async () => {
  await browser?.close()
  await site?.stop()
})

/** Elements and attributes that the page never creates, so a text must have become markup. */
const foreignNodes = [
  ...'script iframe object embed form[action] base meta link style'.split(' '),
  'img:not(.brand img)',
  'svg script',
  ...'[onerror] [onload] [onclick] [onfocus] [onmouseover]'.split(' '),
]
  .map((selector) => `#page ${selector}`)
  .join(', ')

const findForeign = (page: Page): Promise<{ ran: unknown; nodes: number; links: string[] }> =>
  page.evaluate(`({
    ran: window.ran ?? null,
    nodes: document.querySelectorAll(${JSON.stringify(foreignNodes)}).length,
    links: [...document.querySelectorAll('#page a')]
      .map((link) => link.protocol)
      .filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol)),
  })`)

/** Sends every payload through one session: as a message, a tool's output, a task and an agent's name. */
async function sayAll(): Promise<string> {
  const { client, cwd } = site
  const { sessionId } = await client.sessions.create({ cwd, agent: 'parrot', title: payloads[0] as string })
  for (const payload of payloads) {
    await client.sessions.send(sessionId, {
      message: payload,
      source: 'applet',
      applet: payload.slice(0, 60),
    })
    await client.sessions.wait(sessionId)
  }
  return sessionId
}

/** Uses every payload as a title and a path, and some as agents and questions. */
async function nameAll(): Promise<void> {
  const { client } = site
  for (const [index, payload] of payloads.entries()) {
    const cwd = join(site.cwd, payload.replaceAll(/[/\0\n\r]/g, '∕').slice(0, 60) || 'x')
    mkdirSync(cwd, { recursive: true })
    await client.sessions.create({
      cwd,
      agent: index % 20 === 0 ? 'careful' : 'mirror',
      title: payload.slice(0, 200).replaceAll(/[\uD800-\uDFFF]/g, ''),
      ...(index % 20 === 0 ? { initialMessage: payload } : {}),
    })
    if (index % 10 === 0)
      await client.v1.createAgent({
        name: payload.slice(0, 60),
        description: payload.slice(0, 200),
        system: payload,
      })
  }
}

test.skipIf(isBlind)(
  `${payloads.length} texts that want to run do not, in messages, names, paths and output of tools`,
  async () => {
    expect(payloads.length).toBeGreaterThanOrEqual(100)
    const sessionId = await sayAll()
    await nameAll()
    const { page, faults } = await openPage(await browser.newContext(), site.url, `#/sessions/${sessionId}`)
    await page.getByText('tools: write, read, sub_agent').last().waitFor()
    const seen: string[] = []
    const look = async (where: string): Promise<void> => {
      const found = await findForeign(page)
      seen.push(where)
      expect({ where, ...found }).toEqual({ where, ran: null, nodes: 0, links: [] })
    }
    await readWhole(page, look)
    for (const place of [
      '#/sessions',
      '#/sessions?archived=true&calls=true',
      '#/flows',
      '#/waits',
      '#/inbox/questions',
      '#/inbox/notices',
      '#/inbox/mail',
      '#/numbers',
      '#/start',
    ]) {
      await page.goto(`${site.url}/${place}`)
      await page.waitForTimeout(300)
      await look(place)
    }
    await page.goto(`${site.url}/#/flows`)
    await page.locator('.flow-link').nth(3).click()
    for (const lane of await page.locator('[data-lane]').all()) {
      await lane.click()
      await page.locator('.panel').waitFor()
      for (const summary of await page.locator('.panel summary').all()) await summary.click()
      await look('a call in a flow')
    }
    await page.getByRole('button', { name: 'Graph' }).click()
    await look('graph')
    expect(seen.length).toBeGreaterThan(15)
    expect(faults).toEqual([])
  },
  patience,
)

/** Scrolls from the end to the beginning and unfolds everything in sight. */
async function readWhole(page: Page, look: (where: string) => Promise<void>): Promise<void> {
  for (let round = 0; round < 60; round += 1) {
    await page.evaluate(
      `document.querySelectorAll('.entries details:not([open])').forEach((one) => { one.open = true })`,
    )
    await page.waitForTimeout(60)
    await look(`conversation, part ${round}`)
    const top = await page.evaluate<number>(`(() => {
      const list = document.querySelector('.entries')
      list.scrollBy(0, -list.clientHeight * 0.9)
      return list.scrollTop
    })()`)
    if (top === 0) return
  }
}

test.skipIf(isBlind)(
  'the policy of the page allows nothing but its own files, and it needs nothing else',
  async () => {
    const answer = await fetch(`${site.url}/`)
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("style-src 'self'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(await answer.text()).not.toMatch(/<script(?![^>]*src=)|<style|\sstyle=|\son\w+=/)
    const { page } = await openPage(await browser.newContext(), site.url)
    const broken: string[] = []
    page.on(
      'console',
      (message) => void (/Content Security Policy/.test(message.text()) && broken.push(message.text())),
    )
    for (const place of ['#/sessions', '#/flows', '#/waits', '#/inbox', '#/numbers', '#/start']) {
      await page.goto(`${site.url}/${place}`)
      await page.waitForTimeout(200)
    }
    expect(broken).toEqual([])
    // The guard is real: a script that got in would not run.
    await page.evaluate(`{
      const script = document.createElement('script')
      script.textContent = 'window.ran = 1'
      document.body.append(script)
      const image = document.createElement('div')
      image.innerHTML = '<img src=x onerror="window.ran=1">'
      document.body.append(image)
    }`)
    await page.waitForTimeout(300)
    expect(await page.evaluate('window.ran ?? null')).toBe(null)
  },
  patience,
)
