/**
 * Appends until the disk has failed and works again, then says what was acknowledged and what is in the log.
 * With a second argument it lifts its own limit on file sizes once the disk has failed.
 */
import { execFileSync } from 'node:child_process'
import { sqliteStore } from '../../src/store/sqlite.ts'
import { append, created, sent } from '../kits/store.ts'

const [directory = '', limited] = process.argv.slice(2)
const told: string[] = []
const store = sqliteStore({
  directory,
  now: () => Date.now(),
  onHealth: (health) => told.push(health.state === 'ok' ? 'ok' : health.refusal.reason),
})
const acknowledged: string[] = []
const text = 'x'.repeat(30_000)
for (let n = 0; n < 200 && told.at(-1) !== 'ok'; n += 1) {
  const session = `ses_${n}` as const
  const kept = await append(store, created(session), sent(session, `turn_${n}`, { text })).then(
    () => true,
    () => false,
  )
  if (kept) acknowledged.push(session)
  else if (limited !== undefined) {
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited:unlimited'])
  }
  await new Promise((resolve) => setTimeout(resolve, 50))
}
await store.close()
const again = sqliteStore({ directory, now: () => Date.now() })
const there = new Set<string>()
for (let [from, more] = [0, true]; more;) {
  const page = await again.read(from, {}, 10_000)
  for (const { event } of page.events) there.add(event.session)
  ;[from, more] = [page.next, page.more]
}
await again.close()
const lost = acknowledged.filter((session) => !there.has(session))
console.log(JSON.stringify({ told, acknowledged: acknowledged.length, there: there.size, lost }))
