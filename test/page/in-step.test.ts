/** What streams, what is listed and what was recorded are three sources of one text: it is shown once. */
import { expect, test } from 'vitest'
import { createAgent, createGates, isBlind, openPage, useSite, type Turn } from '../kits/page.ts'

const patience = 90_000

const { newContext, newSite } = useSite(patience)

/** Keeps the largest number of paragraphs of an answer that the page has shown at once. */
const countAtOnce = `(() => {
  window.atOnce = 0
  const look = () => {
    window.atOnce = Math.max(window.atOnce, document.querySelectorAll('.answer .md p').length)
  }
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true })
})()`

test.skipIf(isBlind)(
  'one answer stood twice for a moment: it streamed on after it was recorded',
  async () => {
    const gate = createGates()
    const site = await newSite({
      slow: createAgent(async (turn: Turn) => {
        let words = 0
        await turn.think('I have begun.', async () => {
          words += 1
          if (words === 2) await gate.wait('begin', turn.signal)
        })
        // A tool that may not be repeated: what was said before it is recorded first.
        await turn.tool('write', { path: 'begun', content: 'yes' })
        await gate.wait('end', turn.signal)
        return turn.think('I have ended.')
      }),
    })
    const { sessionId } = await site.create({ agent: 'slow', initialMessage: 'Go.' })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.locator('.entry').getByText('Go.').waitFor()
    await page.locator('.streaming').waitFor()
    await page.evaluate(countAtOnce)
    gate.open('begin')
    await page.locator('.steps', { hasText: 'I have begun.' }).waitFor()
    expect(await page.evaluate('window.atOnce')).toBe(1)
    gate.open('end')
    await page.getByText('I have ended.').first().waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'an answer never appeared: its turn ended after the list was read and before events came',
  async () => {
    const gate = createGates()
    const site = await newSite({
      slow: createAgent(async (turn: Turn) => {
        await gate.wait(turn.task, turn.signal)
        return turn.think(`You said: ${turn.task}`)
      }),
    })
    gate.open('one')
    const { sessionId } = await site.create({ agent: 'slow', initialMessage: 'one' })
    await site.client.sessions.wait(sessionId)
    await site.client.sessions.send(sessionId, { message: 'two' })
    const context = await newContext()
    const connect = Promise.withResolvers<void>()
    await context.routeWebSocket(/\/ws/, async (socket) => {
      await connect.promise
      socket.connectToServer()
    })
    const { page, faults } = await openPage(context, site.url, `#/sessions/${sessionId}`)
    await page.getByText('You said: one').waitFor()
    gate.open('two')
    await site.client.sessions.wait(sessionId)
    connect.resolve()
    await page.getByText('You said: two').waitFor({ timeout: patience / 3 })
    expect(await page.getByText('You said: two').count()).toBe(1)
    expect(faults).toEqual([])
  },
  patience,
)
