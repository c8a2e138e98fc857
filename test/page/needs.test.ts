/** What is running, what is stuck, what needs me, what has it used: each in one click at most, or by keyboard. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createAgent, createGates, isBlind, openPage, useSite, type Turn } from '../kits/page.ts'

const patience = 120_000
const { newSite, newContext } = useSite(patience)

async function openTrouble() {
  const gate = createGates()
  const ran: string[] = []
  const careful = createAgent(
    async (turn: Turn) => {
      await turn.think('I have to make room first.')
      const { value } = await turn.tool('shell', { command: 'true' })
      ran.push(JSON.stringify(value))
      return 'Made.'
    },
    { ask: ['shell'] },
  )
  const site = await newSite({
    careful,
    slow: createAgent(async (turn: Turn) => {
      await turn.think('Nearly there.')
      // What is written is on record before it runs, and with it what was said before.
      await turn.tool('write', { path: 'report.txt', content: 'x' })
      await gate.wait('never', turn.signal)
      return 'x'
    }),
    failer: createAgent(() => {
      throw new Error('no compiler here')
    }),
  })
  const ask = (agent: string, initialMessage: string) =>
    site.client.sessions.create({ cwd: site.cwd, agent, initialMessage })
  const { sessionId } = await ask('failer', 'Compile the kernel')
  await site.client.sessions.wait(sessionId)
  await ask('slow', 'Write the report')
  await gate.reached('never')
  await ask('careful', 'Make room')
  await ask('careful', 'Make more room')
  return { site, ran }
}

/** Counts clicks, as a person would. */
async function countClicks(page: Page, clicks: readonly string[], shows: readonly (string | RegExp)[]) {
  for (const name of clicks) await page.getByRole('link', { name }).first().click()
  for (const text of shows) await page.getByText(text).first().waitFor()
  return clicks.length
}

test.skipIf(isBlind)(
  'each question of a person is answered in at most one click from the first view',
  async () => {
    const { site } = await openTrouble()
    const { page } = await openPage(await newContext(), site.url)
    await page.locator('.need').nth(2).waitFor()
    const clicks = {
      running: await countClicks(page, [], ['Write the report', /Nearly there/]),
      stuck: await countClicks(page, [], [/a person to allow or deny shell/]),
      needsMe: await countClicks(page, [], ['careful wants to run shell', 'I have to make room first.']),
      failed: await countClicks(page, [], ['Compile the kernel: failed', /no compiler here/]),
      used: await countClicks(page, [], [/Today: 4 requests, .* tokens/]),
    }
    expect(Math.max(...Object.values(clicks))).toBeLessThanOrEqual(1)
    expect(await page.title()).toBe('(3) Tieline')
    expect(await page.locator('link[rel="icon"]').getAttribute('href')).toContain('data:image/svg')
    // One click leads to the whole flow, and a failure that was looked at is seen.
    await page.getByRole('link', { name: 'Compile the kernel', exact: true }).first().click()
    await page.locator('.error-line', { hasText: 'no compiler here' }).waitFor()
    await expect.poll(() => page.title(), { timeout: 20_000 }).toBe('(2) Tieline')
    // What asks a person does not look as if it ran.
    await page.goto(`${site.url}/#/flows`)
    const asking = page.getByRole('row', { name: 'Make room' })
    await asking.locator('.badge', { hasText: 'asks you' }).waitFor()
  },
  patience,
)

test.skipIf(isBlind)(
  'permission questions are answered with the keyboard alone, several at once',
  async () => {
    const { site, ran } = await openTrouble()
    const { page } = await openPage(await newContext(), site.url)
    await page.locator('.need').nth(2).waitFor()
    for (const key of ['j', 'x', 'j', 'x', 'a']) await page.keyboard.press(key)
    await expect.poll(() => page.title(), { timeout: 20_000 }).toBe('(1) Tieline')
    expect((await site.client.questions.list()).length).toBe(0)
    await expect.poll(() => ran.length, { timeout: 20_000 }).toBe(2)
  },
  patience,
)

test.skipIf(isBlind)(
  'a denial with its reason, typed in the conversation, reaches the agent',
  async () => {
    const { site, ran } = await openTrouble()
    const { page } = await openPage(await newContext(), site.url, '#/sessions?q=more')
    await page.getByRole('link', { name: 'Make more room' }).click()
    await page
      .getByRole('region', { name: 'Waits for you' })
      .getByLabel(/Why not/)
      .fill('Keep it all.')
    await page.keyboard.press('Enter')
    await expect.poll(() => ran.join(''), { timeout: 20_000 }).toContain('They said: Keep it all.')
  },
  patience,
)
