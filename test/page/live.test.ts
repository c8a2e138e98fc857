/** The page stays in step: when a connection breaks, in a second tab, and while the server is away. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createAgent, useSite, createGates, isBlind, openPage, type Turn } from '../kits/page.ts'

const patience = 90_000

const { newContext, newSite } = useSite(patience)

const echo = createAgent((turn: Turn) => turn.think(`You said: ${turn.task}`))

/** The texts of a conversation as the page shows them. */
const readTexts = (page: Page): Promise<string[]> => page.locator('.entry .md').allInnerTexts()

test.skipIf(isBlind)(
  'a connection that breaks is taken up again, and nothing is missed or doubled',
  async () => {
    const site = await newSite({ echo })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Kept', initialMessage: 'one' })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.getByText('You said: one').waitFor()
    await site.restart(() => page.getByText('The connection to the server was lost').waitFor())
    // The page is not back yet: this happens while it is away.
    for (const word of ['two', 'three']) {
      await site.client.sessions.send(sessionId, { message: word })
      await site.client.sessions.wait(sessionId)
    }
    const { sessionId: other } = await site.create({
      agent: 'echo',
      title: 'Made while away',
      initialMessage: 'four',
    })
    await page.getByText('You said: three').waitFor()
    expect(await page.getByText('The connection to the server was lost').count()).toBe(0)
    await page.getByRole('link', { name: 'Made while away' }).waitFor()
    await site.client.sessions.wait(other)
    await site.client.sessions.send(sessionId, { message: 'five' })
    await page.getByText('You said: five').waitFor()
    expect(await readTexts(page)).toEqual([
      'one',
      'You said: one',
      'two',
      'You said: two',
      'three',
      'You said: three',
      'five',
      'You said: five',
    ])
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a turn that runs while the server is restarted is watched to its end',
  async () => {
    const gate = createGates()
    const site = await newSite({
      slow: createAgent(async (turn: Turn) => {
        await gate.wait('begin', turn.signal)
        await turn.think('I have begun.')
        await gate.wait('end', turn.signal)
        return turn.think('I have ended.')
      }),
    })
    const { sessionId } = await site.create({ agent: 'slow', initialMessage: 'Go.' })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.locator('.entry').getByText('Go.').waitFor()
    gate.open('begin')
    await page.getByText('I have begun.').waitFor()
    await gate.reached('end')
    await site.restart()
    gate.open('end')
    await page.getByText('I have ended.').waitFor()
    expect(await page.getByText('I have ended.').count()).toBe(1)
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a page that is opened in the middle of a turn shows what was said before, once, and what comes after',
  async () => {
    const gate = createGates()
    const site = await newSite({
      talker: createAgent(async (turn: Turn) => {
        turn.say('The first words, ')
        turn.say('and some more, ')
        await gate.wait('middle', turn.signal)
        turn.say('and the last.')
        await gate.wait('said', turn.signal)
        await turn.think('This answer is in the log.')
        await turn.tool('write', { path: 'x.txt', content: 'x' })
        await gate.wait('end', turn.signal)
        return turn.think('Over.')
      }),
    })
    const { sessionId } = await site.create({ agent: 'talker', initialMessage: 'Talk.' })
    await gate.reached('middle')
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.locator('.streaming', { hasText: 'The first words, and some more,' }).waitFor()
    gate.open('middle')
    await page
      .locator('.streaming', { hasText: /^The first words, and some more, and the last\.$/ })
      .waitFor()
    gate.open('said')
    await gate.reached('end')
    // What is recorded is shown from the record, also after a reload.
    await page.reload()
    await page.getByText('This answer is in the log.').waitFor()
    await page.getByText('write').first().waitFor()
    expect(await page.getByText('This answer is in the log.').count()).toBe(1)
    gate.open('end')
    await page.getByText('Over.').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a second tab is in step by itself',
  async () => {
    const site = await newSite({
      echo,
      careful: createAgent(
        async (turn: Turn) => {
          await turn.tool('shell', { command: 'true' })
          return turn.think('Done.')
        },
        { ask: ['shell'] },
      ),
    })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Both' })
    const context = await newContext()
    const one = await openPage(context, site.url, `#/sessions/${sessionId}`)
    const two = await openPage(context, site.url, `#/sessions/${sessionId}`)
    await one.page.getByLabel('Message', { exact: true }).fill('hello')
    await one.page.getByRole('button', { name: 'Send' }).click()
    for (const { page } of [one, two]) await page.getByText('You said: hello').waitFor()
    await site.create({ agent: 'careful', initialMessage: 'Go.' })
    for (const { page } of [one, two]) await page.goto(`${site.url}/#/inbox/questions`)
    for (const { page } of [one, two]) await page.getByRole('button', { name: 'Allow once' }).waitFor()
    await one.page.getByRole('button', { name: 'Allow once' }).click()
    for (const { page } of [one, two]) await page.getByText('No questions.').waitFor()
    expect([...one.faults, ...two.faults]).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a turn that waits for a person is cancelled: its question goes, and the server can stop',
  async () => {
    const site = await newSite({
      careful: createAgent(
        async (turn: Turn) => {
          await turn.tool('shell', { command: 'true' })
          return turn.think('Done.')
        },
        { ask: ['shell'] },
      ),
    })
    const { sessionId } = await site.create({ agent: 'careful', initialMessage: 'Go.' })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.getByText('asks you').first().waitFor()
    await page.getByRole('button', { name: 'Cancel turn' }).click()
    await page.locator('.answer .badge', { hasText: 'cancelled' }).waitFor()
    await page.getByRole('link', { name: 'Inbox' }).click()
    await page.getByText('No questions.').waitFor()
    await site.create({ agent: 'careful', initialMessage: 'Go again.' })
    await page.getByRole('button', { name: 'Deny' }).waitFor()
    await site.stop()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'while the server is away every part of the page can still be looked at, and says what is missing',
  async () => {
    const site = await newSite({ echo })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Kept', initialMessage: 'one' })
    await site.client.sessions.wait(sessionId)
    const { page, faults } = await openPage(await newContext(), site.url, '#/sessions')
    await page.getByRole('link', { name: 'Kept' }).waitFor()
    // Views are loaded once the log is read.
    const loaded = (): Promise<string> =>
      page.evaluate(`performance.getEntriesByType('resource').map(({ name }) => name).join()`)
    for (const view of ['flow', 'flows', 'inbox', 'numbers', 'start', 'waits'])
      await expect.poll(loaded).toContain(`/${view}-view-`)
    await site.stop()
    await page.getByText('The connection to the server was lost').waitFor()
    const visit = (hash: string) => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`)
    for (const [place, words] of [
      ['#/inbox/drafts', 'Not all drafts could be read.'],
      ['#/numbers', 'The numbers could not be read.'],
      ['#/flows/flow_x', 'The flow could not be read.'],
      ['#/start', 'The agents could not be read.'],
      ['#/waits', 'The waits could not be read.'],
      ['#/flows', 'one'],
      [`#/sessions/${sessionId}`, 'The conversation could not be read.'],
    ] as const) {
      await visit(place)
      await page.getByText(words).first().waitFor()
    }
    // What could not be read is read by itself when the server is back.
    await visit('#/numbers')
    await page.getByText('The numbers could not be read.').waitFor()
    await site.restart()
    await page.locator('.big-numbers').waitFor()
    await visit(`#/sessions/${sessionId}`)
    await page.getByText('You said: one').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)
