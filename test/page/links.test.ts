/** Links into the page: to a selection, to something that does not exist, and with a token. */
import { expect, test } from 'vitest'
import { createAgent, useSite, isBlind, openPage, type Turn } from '../kits/page.ts'

const patience = 90_000

const { newContext, newSite } = useSite(patience)

const echo = createAgent((turn: Turn) => turn.think(`You said: ${turn.task}`))

test.skipIf(isBlind)(
  'the selection is part of the address, and a link shows it to others',
  async () => {
    const site = await newSite({ echo, other: echo })
    for (const title of ['Alpha', 'Beta'])
      await site.create({ agent: title === 'Alpha' ? 'echo' : 'other', title, initialMessage: `hi ${title}` })
    const { page } = await openPage(await newContext(), site.url, '#/sessions')
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('alp')
    await page.getByRole('link', { name: 'Alpha' }).waitFor()
    await page.getByRole('link', { name: 'Beta' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Alpha' }).click()
    await page.getByText('You said: hi Alpha').waitFor()
    const other = await openPage(
      await newContext(),
      page.url().split('/#')[0] as string,
      `#${page.url().split('#')[1] as string}`,
    )
    await other.page.getByText('You said: hi Alpha').waitFor()
    expect(await other.page.getByRole('link', { name: 'Beta' }).count()).toBe(0)
    await page.getByRole('link', { name: '#2' }).click()
    await page.locator('.entry.marked').getByText('You said: hi Alpha').waitFor()
  },
  patience,
)

test.skipIf(isBlind)(
  'a link to nothing, and a server that is away, say what to do',
  async () => {
    const site = await newSite({ echo })
    const { page } = await openPage(await newContext(), site.url, '#/sessions/ses_nothing')
    await page.getByText('There is no such session.').waitFor()
    await page.goto(`${site.url}/#/flows/flow_nothing`)
    await page.getByText('There is no such flow.').waitFor()
    await page.goto(`${site.url}/#/waits`)
    await page.getByText('Nobody waits for anybody.').waitFor()
    await site.stop()
    await page.getByText('The connection to the server was lost').waitFor()
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByRole('button', { name: 'New session' }).first().click()
    await page.getByLabel('Directory').fill('/tmp')
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByText('Start it again with “tieline serve”').waitFor()
  },
  patience,
)

test.skipIf(isBlind)(
  'a server that wants a token is given one, by hand or by link',
  async () => {
    const site = await newSite({ echo }, { host: '0.0.0.0' })
    const token = site.served.token as string
    expect(token).not.toBe(null)
    const context = await newContext()
    const { page } = await openPage(context, site.url)
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByRole('heading', { name: 'The line between agents' }).waitFor()
    const linked = await openPage(await newContext(), site.url, `#token=${token}`)
    await linked.page.getByRole('heading', { name: 'The line between agents' }).waitFor()
    expect(linked.page.url()).not.toContain(token)
  },
  patience,
)
