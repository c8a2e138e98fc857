/**
 * Mail as a person handles it on the page: accepted, declined, drafted and released, in threads; forks and
 * notices.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createAgent, useSite, isBlind, openPage, type Turn } from '../kits/page.ts'

const patience = 60_000

const { newContext, newSite } = useSite(patience)

const echo = createAgent((turn: Turn) => turn.think(`You said: ${turn.task}`))

test.skipIf(isBlind)(
  'mail that waits is accepted and answered, or declined; the counts follow',
  async () => {
    const site = await newSite({
      echo,
      writer: createAgent(async (turn: Turn) => {
        await turn.tool('send-message', { message: 'A letter of the writer', session: turn.task })
        return turn.think('Written.')
      }),
    })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Receiver' })
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.getByLabel('Delivery').selectOption('buffer')
    await page.getByLabel('Message', { exact: true }).fill('A letter of mine')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('In its inbox, until it is accepted.').waitFor()
    await site.create({ agent: 'writer', initialMessage: sessionId })
    await page
      .getByRole('row', { name: /Receiver/ })
      .getByRole('gridcell', { name: '2', exact: true })
      .waitFor()
    await page.getByRole('link', { name: /Inbox/ }).click()
    await page
      .getByRole('navigation', { name: 'Parts of the inbox' })
      .getByRole('link', { name: /Mail/ })
      .click()
    await page
      .locator('.card.from-agent', { hasText: 'A letter of the writer' })
      .getByRole('button', { name: 'Accept' })
      .click()
    await page.locator('.card', { hasText: 'A letter of the writer' }).waitFor({ state: 'detached' })
    await page
      .locator('.card.from-user', { hasText: 'A letter of mine' })
      .getByRole('button', { name: 'Decline' })
      .click()
    await page.getByText('No mail waits.').waitFor()
    await page.goto(`${site.url}/#/sessions/${sessionId}`)
    await page.locator('.bubble.from-agent', { hasText: 'A letter of the writer' }).waitFor()
    await page.getByText('You said: A letter of the writer').waitFor()
    expect(await page.getByText('A letter of mine').count()).toBe(0)
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'mail that came long before the page is there too',
  async () => {
    const site = await newSite({ echo })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Receiver' })
    await site.client.sessions.send(sessionId, { message: 'Old letter', delivery: 'buffer' })
    const { page } = await openPage(await newContext(), site.url, '#/inbox/mail')
    await page.getByText('Old letter').waitFor()
    expect(await page.locator('.card').count()).toBe(1)
  },
  patience,
)

test.skipIf(isBlind)(
  'a draft is changed and released, once',
  async () => {
    const site = await newSite({ echo })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Receiver' })
    await site.client.mail.send({ message: 'First words', session: sessionId, draft: true, id: 'letter' })
    const { page, faults } = await openPage(await newContext(), site.url, '#/inbox/drafts')
    await page.getByLabel('Text of the draft').fill('Better words')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('revised 1×').waitFor()
    await page.getByText('As it was first written').click()
    await page.getByText('First words').waitFor()
    await page.getByRole('button', { name: 'Release' }).click()
    await page.getByText('No drafts.').waitFor()
    expect(await site.client.mail.get('letter')).toMatchObject({
      status: 'buffered',
      message: 'Better words',
      initial: 'First words',
    })
    await page.getByRole('link', { name: /^Mail/ }).click()
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByText('No mail waits.').waitFor()
    await expect
      .poll(async () => (await site.client.sessions.history(sessionId))?.messages.at(-1)?.text, {
        timeout: 20_000,
      })
      .toBe('You said: Better words')
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  "a person changes and releases an agent's draft or throws it away, but cannot release one that changed unread",
  async () => {
    const config = join(mkdtempSync(join(tmpdir(), 'tieline-page-')), 'tieline.toml')
    writeFileSync(config, '[tools.defaults.send-message]\ndraft = true\n')
    const site = await newSite(
      {
        echo,
        writer: createAgent(async (turn: Turn) => {
          const [id = '', session = '', message = ''] = turn.task.split('|')
          await turn.tool('send-message', { id, session, message })
          return turn.think('Drafted.')
        }),
      },
      { config },
    )
    const { sessionId } = await site.create({ agent: 'echo', title: 'Receiver' })
    const writer = await site.create({
      agent: 'writer',
      title: 'Writer',
      initialMessage: `one|${sessionId}|Words of the agent`,
    })
    await site.client.sessions.wait(writer.sessionId)
    const { page, faults } = await openPage(await newContext(), site.url, '#/inbox/drafts')
    const card = page.locator('.card.from-agent')
    await card.getByLabel('Text of the draft').fill('Words of a person')
    await site.client.sessions.send(writer.sessionId, {
      message: `one|${sessionId}|Other words of the agent`,
    })
    await page.getByText('It was changed meanwhile.').waitFor()
    await card.getByRole('button', { name: 'Save and release' }).click()
    await page.getByRole('alert').getByText('changed after you read it').waitFor()
    expect(await site.client.mail.get('one')).toMatchObject({
      status: 'draft',
      message: 'Other words of the agent',
    })
    await page.getByRole('button', { name: 'Show it as it is now' }).click()
    await card.getByLabel('Text of the draft').fill('Words of a person')
    await card.getByRole('button', { name: 'Save and release' }).click()
    await page.getByText('No drafts.').waitFor()
    expect(await site.client.mail.get('one')).toMatchObject({
      status: 'buffered',
      from: writer.sessionId,
      message: 'Words of a person',
      initial: 'Words of the agent',
    })
    await page.getByRole('link', { name: /^Mail/ }).click()
    await page.locator('.card', { hasText: 'Words of a person' }).getByText('released by you').waitFor()
    await site.client.sessions.send(writer.sessionId, { message: `two|${sessionId}|Better not` })
    await page.getByRole('link', { name: /^Drafts/ }).click()
    await page.locator('.card.from-agent').getByRole('button', { name: 'Throw away' }).click()
    await page.getByText('No drafts.').waitFor()
    expect(await site.client.mail.get('two')).toMatchObject({ status: 'declined' })
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a message is forked from, and what failed below is a notice',
  async () => {
    const site = await newSite({
      echo,
      parent: createAgent(async (turn: Turn) => {
        await turn.tool('create_agent_session', { cwd: turn.task, initialMessage: 'Try.', agent: 'failer' })
        return turn.think('It is on its own now.')
      }),
      failer: createAgent(() => {
        throw new Error('the disk is full')
      }),
    })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Long' })
    for (const word of ['one', 'two', 'three']) {
      await site.client.sessions.send(sessionId, { message: word })
      await site.client.sessions.wait(sessionId)
    }
    const { page, faults } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.locator('.entry', { hasText: 'You said: two' }).getByRole('button', { name: 'Fork' }).click()
    await expect.poll(() => page.url(), { timeout: 20_000 }).not.toContain(sessionId)
    await page.locator('.entry', { hasText: 'You said: two' }).waitFor()
    expect(await page.locator('.entry .md').allInnerTexts()).toEqual([
      'one',
      'You said: one',
      'two',
      'You said: two',
    ])

    const made = await site.create({ agent: 'parent', title: 'Parent', initialMessage: site.cwd })
    await page.goto(`${site.url}/#/inbox/notices`)
    await page.getByText('the disk is full').waitFor()
    await page.goto(`${site.url}/#/sessions/${made.sessionId}`)
    await page.locator('.bubble.from-notice').getByText('the disk is full').waitFor()
    expect(await page.getByRole('row', { name: /failer/ }).getAttribute('aria-level')).toBe('2')
    expect(faults).toEqual([])
  },
  patience,
)

test.skipIf(isBlind)(
  'a letter whose receiver is gone is a dead one',
  async () => {
    const site = await newSite({ echo })
    const { sessionId } = await site.create({ agent: 'echo', title: 'Soon gone' })
    await site.client.sessions.send(sessionId, { message: 'Too late', delivery: 'buffer' })
    const { page } = await openPage(await newContext(), site.url, '#/inbox/dead')
    await page.getByText('No dead letters.').waitFor()
    await site.client.sessions.archive(sessionId)
    await page.getByText('Too late').waitFor()
    await page.reload()
    await page.getByText('Too late').waitFor()
  },
  patience,
)
