import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { until } from '../../../test/kits/cluster.ts'
import { placesIn } from './schema.ts'
import { SideLink } from './side-link.ts'

test('what one node says all others hear, and it does not hear itself', async () => {
  const postgres = await startPostgres()
  if (postgres === null) return
  onTestFinished(() => postgres.stop())
  const join = async (self: string) => {
    const heard: string[] = []
    const side = new SideLink({
      url: postgres.url,
      places: placesIn('tieline'),
      self,
      sleep: (ms) => systemClock.sleep(ms),
      onNews: () => heard.push('news'),
      onWords: (text) => heard.push(text),
    })
    onTestFinished(() => side.close())
    await side.link()
    return { side, heard }
  }
  const [a, b] = [await join('a'), await join('b')]
  a.side.say('text as it streams')
  a.side.tell()
  await until(() => b.heard.length === 3)
  b.side.say('last')
  await until(() => a.heard.includes('last'))
  // The first news is that of the connection itself.
  expect(a.heard).toEqual(['news', 'last'])
  expect(b.heard.toSorted()).toEqual(['news', 'news', 'text as it streams'])
})
