/** The page says when the server cannot record anything, and when it can again. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../kits/http.ts'
import { createAgent, useSite, isBlind, openPage, type Turn } from '../kits/page.ts'
import { hasSmallDisks, smallDisk } from '../kits/small-disk.ts'

const patience = 90_000
const { newContext, newSite } = useSite(patience)
const echo = createAgent((turn: Turn) => turn.think(`You said: ${turn.task.slice(0, 20)}`))

test.skipIf(isBlind || !hasSmallDisks)(
  'a full disk is a bar on the page with what to do, and the page goes on when there is space',
  async () => {
    const disk = smallDisk(6)
    const site = await newSite({ echo }, { dataDir: join(disk.path, 'data') })
    disk.atEnd(() => site.stop())
    const { sessionId } = await site.client.sessions.create({
      cwd: site.cwd,
      agent: 'echo',
      initialMessage: 'one',
    })
    const { page } = await openPage(await newContext(), site.url, `#/sessions/${sessionId}`)
    await page.getByText('You said: one').waitFor()
    disk.fill()
    const large = 'x'.repeat(90_000)
    await until(async () => {
      await site.client.sessions.send(sessionId, { message: large }).catch(() => undefined)
      return (await site.client.health()).status === 'unavailable'
    }, 'the disk is full')
    const bar = page.getByRole('alert').filter({ hasText: 'cannot record anything now: the disk is full' })
    await bar.waitFor()
    expect(await bar.innerText()).toContain('Free some space on it.')
    expect(await page.getByText('You said: one').count()).toBe(1)
    disk.empty()
    await bar.waitFor({ state: 'detached' })
  },
  patience,
)
