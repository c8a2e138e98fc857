/**
 * A person looks at the page while agents work: everything is there without a reload, and the person can step
 * in.
 */
import { expect, test } from 'vitest'
import { agent, eachWithItsSite, gates, isBlind, openPage, type Gates, type Turn } from './page-kit.ts'

const patience = 60_000

const { newContext, newSite } = eachWithItsSite(patience)

/** A planner that calls a coder and then a reviewer; each stops at its gate. */
const team = (gate: Gates) => ({
  planner: agent(async (turn: Turn) => {
    turn.say('I look for somebody. ')
    await gate.wait('planner', turn.signal)
    const coded = await turn.tool('sub_agent', {
      agent_name: 'coder',
      task: 'Write slugify.mjs',
      context: { last_messages: 2, roles: ['user'] },
      timeout_seconds: 50,
    })
    const reviewed = await turn.tool('sub_agent', {
      agent_name: 'reviewer',
      task: 'Check slugify.mjs',
      allowed_tools: ['read'],
      timeout_seconds: 50,
    })
    return turn.think(`All is **written and approved** (${String(coded.ok)}, ${String(reviewed.ok)}).`)
  }),
  coder: agent(async (turn: Turn) => {
    await turn.tool('write', { path: 'slugify.mjs', content: 'export {}' })
    turn.say('I am in the middle of it')
    await gate.wait('coder', turn.signal)
    return turn.think('slugify.mjs is there.')
  }),
  reviewer: agent(async (turn: Turn) => {
    await gate.wait('reviewer', turn.signal)
    return turn.think('Approved.')
  }),
})

test.skipIf(isBlind)(
  'a request is watched from its first word to its last: conversation, flow, replay',
  async () => {
    const gate = gates()
    const site = await newSite(team(gate))
    const { page, faults } = await openPage(await newContext(), site.url)
    // Nothing happened here yet, so the page teaches.
    await page.getByRole('button', { name: 'Run the demo' }).waitFor()

    const { sessionId } = await site.client.sessions.create({
      cwd: site.cwd,
      agent: 'planner',
      title: 'Slugs',
    })
    await page.goto(`${site.url}/#/sessions`)
    await page.getByRole('link', { name: 'Slugs' }).click()
    await page.getByLabel('Message', { exact: true }).fill('Build it.')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Sent; it is working on it.').waitFor()
    await page.getByText('I look for somebody.').waitFor()

    gate.open('planner')
    await gate.reached('coder')
    await page.locator('.step-call', { hasText: 'coder' }).getByText('running').waitFor()
    // The child is in the tree below its caller while it works, and its words come as it says them.
    const child = page.getByRole('row', { name: /coder call/ })
    expect(await child.getAttribute('aria-level')).toBe('2')
    await child.getByRole('link').click()
    await page.getByText('I am in the middle of it').waitFor()
    await page
      .locator('.step', { hasText: 'write' })
      .locator('.step-line', { hasText: 'slugify.mjs' })
      .waitFor()

    await page.goto(`${site.url}/#/sessions/${sessionId}`)
    await page.locator('.conversation-acts').getByRole('link', { name: 'Flow' }).click()
    await page.getByRole('button', { name: /^coder sub_agent running/ }).click()
    const panel = page.getByRole('complementary', { name: 'Details of coder' })
    await panel.getByText('I am in the middle of it').waitFor()
    await panel.getByText('of 4000 tokens passed').waitFor()
    await panel.getByText('no ceiling: all that the agent has').waitFor()

    gate.open('coder')
    await gate.reached('reviewer')
    await panel.getByText('slugify.mjs is there.').waitFor()
    await page.getByRole('button', { name: /^reviewer sub_agent running/ }).click()
    await page.getByText('at most read').waitFor()
    gate.open('reviewer')
    await page.locator('h1').getByText('completed').waitFor()

    await replay(page)
    await page.goto(`${site.url}/#/sessions/${sessionId}`)
    await page.getByText('written and approved').waitFor()
    await page.getByText('tools: sub_agent').or(page.getByText('1 tool: sub_agent')).click()
    await page.locator('.step-call', { hasText: 'reviewer' }).getByText('completed').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a flow that is older than what the page reads is watched and replayed whole',
  async () => {
    const gate = gates()
    for (const name of ['planner', 'coder', 'reviewer']) gate.open(name)
    const site = await newSite(team(gate))
    const made = await site.client.sessions.create({
      cwd: site.cwd,
      agent: 'planner',
      title: 'Slugs',
      initialMessage: 'Build it.',
    })
    await site.client.sessions.wait(made.sessionId)
    const [call] = await site.client.calls.list({ session: made.sessionId })
    const { events } = await site.client.flowEvents(call?.flow ?? '')
    await site.served.line.store.transact([`session:${made.sessionId}`], async (tx) =>
      tx.append(
        ...Array.from({ length: 11_000 }, () => ({
          type: 'notice.raised' as const,
          session: made.sessionId,
          turn: null,
          about: '',
          text: 'later',
        })),
      ),
    )
    const { page, faults } = await openPage(await newContext(), site.url, `#/flows/${call?.flow ?? ''}`)
    await page.getByRole('button', { name: /^reviewer sub_agent completed/ }).waitFor()
    expect(await page.locator('.replay-words').innerText()).toContain(`${events.length}/${events.length}`)
    await page.getByRole('slider', { name: 'Event' }).fill('0')
    await page.locator('.replay-words', { hasText: 'planner is asked: Build it.' }).waitFor()
    expect(await page.getByRole('button', { name: /^reviewer/ }).count()).toBe(0)
    await page.goto(`${site.url}/#/flows/flow_nothing`)
    await page.getByText('There is no such flow.').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

/** Back to when the coder had just been called: it has not begun, and nobody has heard of a reviewer. */
async function replay(page: Awaited<ReturnType<typeof openPage>>['page']): Promise<void> {
  await page.getByRole('button', { name: 'Close' }).click()
  const slider = page.getByRole('slider', { name: 'Event' })
  for (
    let index = 0;
    index < 60 && !(await page.locator('.replay-words').innerText()).includes('planner calls coder');
    index += 1
  )
    await page.getByRole('button', { name: 'One event back' }).click()
  expect(await slider.getAttribute('aria-valuetext')).toContain('planner calls coder')
  await page.getByRole('button', { name: /^coder sub_agent queued/ }).waitFor()
  expect(await page.getByRole('button', { name: /^reviewer/ }).count()).toBe(0)
  // The moment is in the address: a link shows the same.
  const at = page.url()
  expect(at).toMatch(/at=\d+/)
  await page.goto('about:blank')
  await page.goto(at)
  await page.getByRole('button', { name: /^coder sub_agent queued/ }).waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  await page.getByRole('button', { name: /^reviewer sub_agent completed/ }).waitFor()
}

test.skipIf(isBlind)(
  'the demo of the first page needs one click and ends',
  async () => {
    const site = await newSite(undefined)
    const { page, faults } = await openPage(await newContext(), site.url, '#/start?pace=none')
    await page.getByRole('button', { name: 'Run the demo' }).click()
    await page.locator('h1').getByText('completed').waitFor()
    await page.getByText('2 calls').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'the demo goes at a pace at which a person can follow: words come one by one, and there is time to step in',
  async () => {
    const site = await newSite(undefined)
    const { page, faults } = await openPage(await newContext(), site.url)
    await page.getByRole('button', { name: 'Run the demo' }).click()
    await page.getByRole('button', { name: /^Coder call_agent running/ }).waitFor()
    const [planner] = (await site.client.sessions.list({ active: true })).sessions.filter(
      ({ agentName }) => agentName === 'Planner',
    )
    await page.goto(`${site.url}/#/sessions/${planner?.id ?? ''}`)
    await page.getByText('Coder and Reviewer are named here.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('cancelled').first().waitFor()
    // A second time it is the same three agents.
    await page.goto(`${site.url}/#/start`)
    await page.getByRole('button', { name: 'Run the demo' }).click()
    await page.getByRole('button', { name: /^Coder call_agent running/ }).waitFor()
    expect(
      (await site.client.agents()).filter(({ model }) => model === 'demo/paced').map(({ name }) => name),
    ).toEqual(['Planner', 'Coder', 'Reviewer'])
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a question is answered, and the tool runs',
  async () => {
    const site = await newSite({
      careful: agent(
        async (turn: Turn) => {
          const answer = await turn.tool('shell', { command: 'echo it ran' })
          return turn.think(answer.ok ? 'It was allowed.' : 'It was denied.')
        },
        { ask: ['shell'] },
      ),
    })
    const { page, faults } = await openPage(await newContext(), site.url, '#/inbox/questions')
    for (const [word, said] of [
      ['Allow once', 'It was allowed.'],
      ['Deny', 'It was denied.'],
    ] as const) {
      const { sessionId } = await site.client.sessions.create({
        cwd: site.cwd,
        agent: 'careful',
        initialMessage: 'Run it.',
      })
      await page.getByText('echo it ran').waitFor()
      await page.getByRole('button', { name: word }).click()
      await page.getByText('No questions.').waitFor()
      await expect
        .poll(async () => (await site.client.sessions.history(sessionId))?.messages.at(-1)?.text, {
          timeout: 20_000,
        })
        .toBe(said)
    }
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a call is cancelled from the flow, with all below it',
  async () => {
    const gate = gates()
    const site = await newSite(team(gate))
    gate.open('planner')
    const { sessionId } = await site.client.sessions.create({
      cwd: site.cwd,
      agent: 'planner',
      initialMessage: 'Build it.',
    })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await gate.reached('coder')
    await page.locator('.conversation-acts').getByRole('link', { name: 'Flow' }).click()
    await page.getByRole('button', { name: /^coder sub_agent running/ }).click()
    await page.getByRole('button', { name: 'Cancel it and all below' }).click()
    await page.getByRole('button', { name: /^coder sub_agent cancelled/ }).waitFor()
    // What it had said is kept.
    await page.getByText('This is what it had said when it ended.').waitFor()
    gate.open('reviewer')
    await page.locator('h1').getByText('completed').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a turn is cancelled where one reads it, and what was written behind it goes on',
  async () => {
    const gate = gates()
    const site = await newSite({
      slow: agent(async (turn: Turn) => {
        if (turn.task !== 'first') return turn.think(`Done: ${turn.task}`)
        await gate.wait('first', turn.signal)
        return 'never'
      }),
    })
    const { sessionId } = await site.client.sessions.create({
      cwd: site.cwd,
      agent: 'slow',
      initialMessage: 'first',
    })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await gate.reached('first')
    await page.getByLabel('Message', { exact: true }).fill('second')
    await page.getByLabel('Message', { exact: true }).press('Control+Enter')
    await page.getByText('Queued behind what it does now.').waitFor()
    await page.locator('.bubble').getByText('queued').waitFor()
    // Busy: what must be now is refused, and what was written is still there.
    await page.getByLabel('Delivery').selectOption('now')
    await page.getByLabel('Message', { exact: true }).fill('third')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('It was not sent.').waitFor()
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('third')
    await page.getByRole('button', { name: 'Cancel turn' }).click()
    await page.getByText('Done: second').waitFor()
    await page.locator('.answer .badge', { hasText: 'cancelled' }).waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a refused call says why, with the ring that it would have closed',
  async () => {
    const ask = (other: string) =>
      agent(async (turn: Turn) => {
        await turn.tool('call_agent', {
          agent_id: other,
          message: `from ${turn.agent.name}: what about ${turn.task.slice(0, 10)}`,
          timeout_ms: 5000,
        })
        return turn.think('I have asked.')
      })
    const site = await newSite({ left: ask('right'), right: ask('left') })
    const { page, faults } = await openPage(await newContext(), site.url, '#/waits')
    await page.getByText('Nobody waits for anybody.').waitFor()
    await site.client.sessions.create({ cwd: site.cwd, agent: 'left', initialMessage: 'tea' })
    await page.locator('.ring', { hasText: 'left' }).waitFor()
    await page.getByRole('link', { name: 'See it in the flow' }).first().click()
    await page.getByText('This call would come back to an agent that is waiting for it').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'who waits for whom is drawn while it lasts, with what is at the end of it',
  async () => {
    const gate = gates()
    const site = await newSite(team(gate))
    gate.open('planner')
    await site.client.sessions.create({ cwd: site.cwd, agent: 'planner', initialMessage: 'Build it.' })
    await gate.reached('coder')
    const { page, faults } = await openPage(await newContext(), site.url, '#/waits')
    await page.getByText('1 session waits.').waitFor()
    await page
      .locator('.ends')
      .getByText(/coder\s+has worked for/)
      .waitFor()
    gate.open('coder')
    gate.open('reviewer')
    await page.getByText('Nobody waits for anybody.').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)
