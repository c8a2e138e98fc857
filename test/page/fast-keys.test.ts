/** Keys that are pressed faster than the page is drawn are not lost. */
import { expect, test } from 'vitest'
import { createAgent, isBlind, openPage, useSite, type Turn } from '../kits/page.ts'

const patience = 120_000
const { newContext, newSite } = useSite(patience)

const press = (keys: string): string =>
  `for (const key of '${keys}')
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))`

test.skipIf(isBlind)(
  'two keys in one moment, also where a dialog with a field was closed in it',
  async () => {
    const site = await newSite({ talker: createAgent(async (turn: Turn) => turn.think('Yes.')) })
    await site.client.sessions.create({ cwd: site.cwd, agent: 'talker', title: 'Talked' })
    const { page, faults } = await openPage(await newContext(), site.url, '#/sessions')
    await page.getByRole('link', { name: 'Talked' }).waitFor()
    await page.evaluate(press('gf'))
    await page.getByRole('heading', { name: 'Flows' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    // The field keeps the focus until the page is drawn again.
    await page.evaluate(`document.querySelector('dialog input').focus()`)
    await page.evaluate(`document.querySelector('dialog').close(); ${press('gw')}`)
    await page.getByRole('heading', { name: 'Waits' }).waitFor()
    expect(faults).toEqual([])
  },
  patience,
)
