/** A person watches agents work: everything appears without a reload. */
import { expect, test } from 'vitest'
import { createAgent, useSite, createGates, isBlind, openPage, type Turn } from '../kits/page.ts'
import { createTeam } from './team.ts'

const patience = 60_000

const { newContext, newSite } = useSite(patience)

test.skipIf(isBlind)(
  'a request is watched from its first word to its last: conversation, flow, replay',
  async () => {
    const gate = createGates()
    const site = await newSite(createTeam(gate))
    const { page, faults } = await openPage(await newContext(), site.url)
    // Nothing happened here yet, so the page teaches.
    await page.getByRole('button', { name: 'Run the demo' }).waitFor()

    const { sessionId } = await site.create({ agent: 'planner', title: 'Slugs' })
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
    await page.getByRole('button', { name: /^coder .* running/ }).click()
    const panel = page.getByRole('complementary', { name: 'Details of coder' })
    await panel.getByText('I am in the middle of it').waitFor()
    await panel.getByText('of 4000 tokens passed').waitFor()
    await panel.getByText('no ceiling: all that the agent has').waitFor()

    gate.open('coder')
    await gate.reached('reviewer')
    await panel.getByText('slugify.mjs is there.').waitFor()
    await page.getByRole('button', { name: /^reviewer .* running/ }).click()
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
    const gate = createGates()
    for (const name of ['planner', 'coder', 'reviewer']) gate.open(name)
    const site = await newSite(createTeam(gate))
    const made = await site.create({ agent: 'planner', title: 'Slugs', initialMessage: 'Build it.' })
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
    await page.getByRole('button', { name: /^reviewer Check slugify.mjs completed/ }).waitFor()
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

/** Goes back to the moment after the call of the coder, which has not begun; the reviewer is unknown. */
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
  await page.getByRole('button', { name: /^coder .* queued/ }).waitFor()
  expect(await page.getByRole('button', { name: /^reviewer/ }).count()).toBe(0)
  // The moment is in the address: a link shows the same.
  const at = page.url()
  expect(at).toMatch(/at=\d+/)
  await page.goto('about:blank')
  await page.goto(at)
  await page.getByRole('button', { name: /^coder .* queued/ }).waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  await page.getByRole('button', { name: /^reviewer .* completed/ }).waitFor()
}

test.skipIf(isBlind)(
  'a refused call says why, with the ring that it would have closed',
  async () => {
    const ask = (other: string) =>
      createAgent(async (turn: Turn) => {
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
    await site.create({ agent: 'left', initialMessage: 'tea' })
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
    const gate = createGates()
    const site = await newSite(createTeam(gate))
    gate.open('planner')
    await site.create({ agent: 'planner', initialMessage: 'Build it.' })
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
