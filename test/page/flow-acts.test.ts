/** What a person finds and does in a flow: steps in their place, what was passed on, a word to a callee. */
import { expect, test } from 'vitest'
import { createAgent, createGates, isBlind, openPage, useSite, type Turn } from '../kits/page.ts'

const patience = 120_000
const { newContext, newSite } = useSite(patience)

async function openWork() {
  const gate = createGates()
  const site = await newSite({
    planner: createAgent(async (turn: Turn) => {
      if (turn.task.startsWith('Rules')) return turn.think('Noted: small commits.')
      const context = { last_messages: 1 }
      await turn.tool('sub_agent', { agent_name: 'coder', task: 'Write slugify.mjs', context })
      await turn.tool('sub_agent', { agent_name: 'nobody', task: 'Publish it' })
      return turn.think('It is written.')
    }),
    coder: createAgent(async (turn: Turn) => {
      await turn.tool('write', { path: 'slugify.mjs', content: 'export {}' })
      await gate.wait('coder', turn.signal)
      return turn.think('slugify.mjs is there.')
    }),
    // A model's loop takes words while it works; a rule that hangs is one.
    waiter: { tools: ['*'], script: [{ hang: true }] },
    host: createAgent(async (turn: Turn) => {
      const call = { agent_name: 'waiter', task: 'Wait for the mail', timeout_seconds: 100 }
      return String((await turn.tool('sub_agent', call)).ok)
    }),
  } as never)
  const { sessionId } = await site.create({ agent: 'planner', initialMessage: 'Rules: small commits.' })
  await site.client.sessions.wait(sessionId)
  const { flow } = await site.client.sessions.send(sessionId, { message: 'Build a slug function.' })
  await gate.reached('coder')
  return { site, gate, session: sessionId, flow: flow ?? '' }
}

test.skipIf(isBlind)(
  'steps open in their place, messages that were passed and dropped are shown, and a refusal is with the flows',
  async () => {
    const { site, gate, session, flow } = await openWork()
    const { page, faults } = await openPage(await newContext(), site.url, `#/flows/${flow}`)
    await page.getByRole('button', { name: 'Steps of coder: Write slugify.mjs' }).click()
    await page.getByRole('group', { name: 'Steps of coder' }).getByText('write', { exact: true }).waitFor()
    await page.getByRole('button', { name: /^coder Write slugify.mjs running/ }).click()
    const messages = page.getByRole('list', { name: 'Messages of the caller' })
    await messages.getByText('Noted: small commits.').first().waitFor()
    expect(await messages.locator('.left-out').count()).toBeGreaterThan(0)
    expect(await page.getByText('sub_agent', { exact: true }).count()).toBe(0)
    gate.open('coder')
    // What came out of it is there without a click.
    await page.locator('.flow-output').getByText('It is written.').waitFor()
    await page.goto(`${site.url}/#/flows`)
    await page.getByText('Refused calls (1)').click()
    await page.getByText('There is no such agent.').waitFor()
    await page.goto(`${site.url}/#/waits`)
    await page.getByText('No call would have closed a ring').waitFor()
    await site.client.sessions.fork(session)
    await page.goto(`${site.url}/#/sessions`)
    await page.locator('.tone-fork').waitFor()
    // A session shows what it worked on last, and can be sorted by its name.
    await page.locator('.tree-task', { hasText: 'Build a slug function.' }).waitFor()
    await page.getByRole('columnheader').getByRole('button', { name: 'Session' }).click()
    await page.locator('[aria-sort="ascending"]').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a call that runs is given a word from the page, and a cancel says first what it ends',
  async () => {
    const { site, gate } = await openWork()
    gate.open('coder')
    await site.create({ agent: 'host', initialMessage: 'Mind the mail' })
    const findCall = async () =>
      (await site.client.calls.list({ limit: 10 })).find(
        ({ agent, outcome }) => agent === 'waiter' && outcome === null,
      )
    await expect.poll(async () => (await findCall())?.flow ?? null).not.toBeNull()
    const call = await findCall()
    const { page, faults } = await openPage(
      await newContext(),
      site.url,
      `#/flows/${call?.flow ?? ''}?call=${call?.call ?? ''}`,
    )
    await page.getByPlaceholder('Steer waiter while it works').fill('Look in the letter box.')
    await page.keyboard.press('Enter')
    await page.getByText('It reads this before its next step.').waitFor()
    await page.locator('.replay-words', { hasText: 'waiter is steered: Look in the letter box.' }).waitFor()
    const main = page.locator('.flow-now')
    await main.getByRole('button', { name: 'Cancel' }).click()
    await main.getByText('This also ends what it waits for:').waitFor()
    await main.getByText('Wait for the mail').waitFor()
    await main.getByRole('button', { name: 'Yes, cancel' }).click()
    await page.locator('h1').getByText('cancelled').waitFor()
    expect(faults).toEqual([])
  },
  patience,
)
