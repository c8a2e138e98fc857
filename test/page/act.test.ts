/** A person steps in: starts the demo, answers a question, cancels a call or a turn. */
import { expect, test } from 'vitest'
import { createAgent, useSite, createGates, isBlind, openPage, type Turn } from '../kits/page.ts'
import { createTeam } from './team.ts'

const patience = 60_000

const { newContext, newSite } = useSite(patience)

test.skipIf(isBlind)(
  'the demo of the first page needs one click and ends',
  async () => {
    const site = await newSite(undefined)
    const { page, faults } = await openPage(await newContext(), site.url, '#/start?pace=none')
    await page.getByRole('button', { name: 'Run the demo' }).click()
    await page.locator('h1').getByText('completed').waitFor()
    await page.getByText('2 calls').waitFor()
    // It leaves nobody behind, and what it did stays readable.
    const left = async () => (await site.client.agents()).filter(({ origin }) => origin === 'api').length
    await expect.poll(left).toBe(0)
    expect((await site.client.sessions.list()).sessions.filter(({ kind }) => kind === 'persistent')).toEqual(
      [],
    )
    await page.reload()
    await page.getByRole('button', { name: /^Coder .* completed/ }).waitFor()
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
    await page.getByRole('button', { name: /^Coder .* running/ }).waitFor()
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
    await page.getByRole('button', { name: /^Coder .* running/ }).waitFor()
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
      careful: createAgent(
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
      const { sessionId } = await site.create({ agent: 'careful', initialMessage: 'Run it.' })
      await page.getByText('echo it ran').waitFor()
      await page.getByRole('button', { name: 'Allow for this session' }).waitFor()
      await page.getByLabel('Why not; the agent reads it').waitFor()
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
    const gate = createGates()
    const site = await newSite(createTeam(gate))
    gate.open('planner')
    const { sessionId } = await site.create({ agent: 'planner', initialMessage: 'Build it.' })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await gate.reached('coder')
    await page.locator('.conversation-acts').getByRole('link', { name: 'Flow' }).click()
    await page.getByRole('button', { name: /^coder .* running/ }).click()
    const panel = page.getByRole('complementary')
    await panel.getByRole('button', { name: 'Cancel' }).click()
    await panel.getByText('Nothing else ends with it.').waitFor()
    await panel.getByRole('button', { name: 'Yes, cancel' }).click()
    await page.getByRole('button', { name: /^coder .* cancelled/ }).waitFor()
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
    const gate = createGates()
    const site = await newSite({
      slow: createAgent(async (turn: Turn) => {
        if (turn.task !== 'first') return turn.think(`Done: ${turn.task}`)
        await gate.wait('first', turn.signal)
        return 'never'
      }),
    })
    const { sessionId } = await site.create({ agent: 'slow', initialMessage: 'first' })
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
