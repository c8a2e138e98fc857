/**
 * The page under load: five hundred sessions of which fifty stream, and a conversation of ten thousand messages.
 * The measurements are printed; the bounds are wide, since machines differ.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Event } from '../../src/model/event.ts'
import type { SessionId } from '../../src/model/id.ts'
import {
  createAgent,
  useSite,
  createGates,
  isBlind,
  openPage,
  type Gates,
  type Site,
  type Turn,
} from '../kits/page.ts'

const patience = 180_000

const { newContext, newSite } = useSite(patience)

/** Counts the frames that are drawn and the tasks that block the page, from now on. */
const startMeasuring = `(() => {
  const seen = { frames: 0, long: [], from: performance.now() }
  window.seen = seen
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) seen.long.push(one.duration)
  }).observe({ type: 'longtask' })
  const frame = () => {
    seen.frames += 1
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
})()`

type Seen = {
  ms: number
  frames: number
  framesPerSecond: number
  longTasks: number
  longest: number
  blockedMs: number
}

const readMeasured = (page: Page): Promise<Seen> =>
  page.evaluate<Seen>(`(() => {
    const { frames, long, from } = window.seen
    const ms = performance.now() - from
    return {
      ms: Math.round(ms),
      frames,
      framesPerSecond: Math.round((frames / ms) * 1000),
      longTasks: long.length,
      longest: Math.round(Math.max(0, ...long)),
      blockedMs: Math.round(long.reduce((a, b) => a + b, 0)),
    }
  })()`)

const words = 'The line was quiet, and then it was not; every word that went over it was written down. '

/** Says a few words every 25 ms, until the test opens the gate. */
const createTalker = (gate: Gates) =>
  createAgent(async (turn: Turn) => {
    const done = gate.wait('end', turn.signal).then(() => true)
    for (let index = 0; index < 5000; index += 1) {
      const from = (index * 7) % 60
      turn.say(`${words.slice(from, from + 12)} `)
      const pause = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 25))
      if (await Promise.race([done, pause])) break
    }
    return turn.think('That was all.')
  })

test.skipIf(isBlind)(
  'five hundred sessions are there, fifty of them stream at once, and the page answers',
  async () => {
    const gate = createGates()
    const [quiet, count] = [450, 50]
    const site = await newSite({ talker: createTalker(gate) })
    const { client, cwd } = site
    for (let index = 0; index < quiet; index += 1)
      await client.sessions.create({ cwd, agent: 'talker', title: `Quiet ${index}` })
    const { page, faults } = await openPage(await newContext(), site.url, '#/sessions')
    const create = (index: number) =>
      client.sessions.create({ cwd, agent: 'talker', title: `Talker ${index}`, initialMessage: 'Talk.' })
    const sessions = await Promise.all(Array.from({ length: count }, (_, index) => create(index)))
    await page.getByText(`${quiet + count} sessions`).waitFor()
    // Beside the list of all of them.
    const show = (index: number) => page.goto(`${site.url}/#/sessions/${sessions[index]?.sessionId}`)
    await show(3)
    await page.locator('.streaming').waitFor()
    await page.evaluate(startMeasuring)
    const before = Date.now()
    await page.waitForTimeout(4000)
    // A person uses the page meanwhile.
    const clicked = Date.now()
    const name = await page.locator('.tree-slot a').nth(6).innerText()
    await page.locator('.tree-slot a').nth(6).click()
    await page.getByRole('heading', { name, exact: true }).waitFor()
    const clickMs = Date.now() - clicked
    const asked = Date.now()
    expect((await client.health()).status).toBe('ok')
    const healthMs = Date.now() - asked
    const seen = await readMeasured(page)
    gate.open('end')
    await show(6)
    await page.getByText('That was all.').waitFor()
    for (const { sessionId } of sessions) await client.sessions.wait(sessionId)
    await expect
      .poll(() => page.locator('.badge', { hasText: 'working' }).count(), { timeout: patience / 2 })
      .toBe(0)
    console.info(
      `five hundred sessions, fifty streams, for ${Date.now() - before} ms:`,
      JSON.stringify({ ...seen, clickMs, healthMs }),
    )
    expect(seen.framesPerSecond).toBeGreaterThan(5)
    expect(seen.longest).toBeLessThan(1500)
    expect(seen.blockedMs / seen.ms).toBeLessThan(0.6)
    expect(clickMs).toBeLessThan(8000)
    expect(healthMs).toBeLessThan(4000)
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'ten thousand messages scroll, and any of them has a link',
  async () => {
    const site = await newSite({ echo: createAgent((turn: Turn) => turn.think(`You said: ${turn.task}`)) })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Long' })
    await fill(site, sessionId, 5000)
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.getByText('Answer 5000').waitFor()
    await page.evaluate(startMeasuring)
    // A few pages with the wheel, then far jumps, as when searching for something.
    await page.locator('.entries').hover()
    for (let turn = 0; turn < 40; turn += 1) {
      await page.mouse.wheel(0, -900)
      await page.waitForTimeout(20)
    }
    for (const part of [0.5, 0.1, 0.9, 0]) {
      await page.evaluate(`(() => {
        const list = document.querySelector('.entries')
        list.scrollTop = list.scrollHeight * ${part}
      })()`)
      await page.waitForTimeout(250)
    }
    await page.getByText('Question 1', { exact: true }).waitFor()
    const seen = await readMeasured(page)
    const drawn = await page.locator('.entry-slot').count()
    console.info('ten thousand messages:', JSON.stringify({ ...seen, drawn }))
    expect(drawn).toBeLessThan(80)
    expect(seen.longest).toBeLessThan(1500)
    await page.goto('about:blank')
    await page.goto(`${site.url}/#/sessions/${sessionId}?n=4321`)
    await page.locator('.entry.marked').getByText('Question 2161', { exact: true }).waitFor()
    // A new message is there too, even after reading far back.
    await site.client.sessions.send(sessionId, { message: 'And now?' })
    await page.goto(`${site.url}/#/sessions/${sessionId}`)
    await page.reload()
    await page.getByText('You said: And now?').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

const turnsPerTransaction = 250

/** Writes finished turns straight into the log, many in a transaction. */
async function fill({ served }: Site, session: string, turns: number): Promise<void> {
  const id = session as SessionId
  for (let from = 0; from < turns; from += turnsPerTransaction) {
    const events = Array.from({ length: Math.min(turnsPerTransaction, turns - from) }, (_, index) =>
      createTurn(id, from + index + 1),
    ).flat()
    await served.line.store.transact([`session:${id}`], async (tx) => tx.append(...events))
  }
}

function createTurn(session: SessionId, n: number): Event[] {
  const turn = `turn_fill${n}` as const
  const asked = `Question ${n}`
  const code = `\n\n- one\n- two\n\n\`\`\`ts\nconst n = ${n}\n\`\`\``
  const answered = `Answer ${n}${n % 5 === 0 ? code : ''}${n % 7 === 0 ? ` ${words.repeat(6)}` : ''}`
  return [
    {
      type: 'message.sent',
      session,
      turn,
      message: `msg_fill${n}`,
      flow: `flow_fill${n}`,
      from: null,
      senderTurn: null,
      source: 'user',
      applet: null,
      inReplyTo: null,
      text: asked,
      tokens: 3,
      deadline: null,
      trace: null,
      grant: {
        agent: 'echo',
        depth: 0,
        subagentDepth: 0,
        path: [{ session, agent: 'echo' }],
        authority: { tools: null, nested: true },
        tokensMax: null,
        maxIterations: 16,
      },
    },
    { type: 'turn.started', session, turn, node: 'node_fill', epoch: 1, deadline: Date.now() + 60_000 },
    {
      type: 'turn.ended',
      session,
      turn,
      outcome: 'completed',
      output: answered,
      error: null,
      tokensUsed: 10,
      tokensBelow: 0,
      iterations: 1,
      toolCalls: [],
      entry: {
        n: n * 2 - 1,
        asked,
        askedTokens: 3,
        from: null,
        startedAt: Date.now(),
        answered,
        answeredTokens: 7,
      },
    },
  ]
}
