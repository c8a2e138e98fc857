import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { tcpProxy } from '../../../test/kits/tcp-proxy.ts'
import { until } from '../../../test/kits/cluster.ts'
import { placesIn } from './schema.ts'
import { SideLink } from './side-link.ts'

test('while the database is away it is looked for by one at a time, and at least four times a second', async () => {
  const postgres = await startPostgres()
  if (postgres === null) return
  onTestFinished(() => postgres.stop())
  const proxy = await tcpProxy(postgres.port)
  onTestFinished(() => proxy.close())
  const pauses: number[] = []
  let [sleeping, most, heard] = [0, 0, 0]
  const side = new SideLink({
    url: `postgres://tieline@127.0.0.1:${proxy.port}/postgres`,
    places: placesIn('tieline'),
    self: 'me',
    sleep: async (ms) => {
      // Longer ones are of a connection that is being made or used.
      if (ms > 250) return systemClock.sleep(ms)
      pauses.push(ms)
      most = Math.max(most, (sleeping += 1))
      await systemClock.sleep(1)
      sleeping -= 1
    },
    onNews: () => (heard += 1),
    onWords: () => undefined,
  })
  onTestFinished(() => side.close())
  await side.link()
  pauses.length = 0
  most = 0
  await postgres.kill()
  await until(() => pauses.length > 40)
  expect([most, Math.max(...pauses)]).toEqual([1, 250])
  await postgres.start()
  await until(() => heard === 2)
})
