import { expect, test } from 'vitest'
import { mailWorld } from '../../../test/kits/mail.ts'
import { awaitNews } from './await-news.ts'
import { openClient } from './presence.ts'

test('a program that waits again has not left', async () => {
  const w = await mailWorld()
  const { runtime } = w.node
  const client = await w.open('external')
  const present = await openClient(runtime, client, 'some program')
  const wait = (ms: number) =>
    awaitNews(runtime, { session: client, inbox: null }, present, {
      ms,
      busy: false,
      signal: new AbortController().signal,
    })
  await w.until(wait(1000))
  expect(present.leftAt).toBe(w.clock.elapsed())
  const again = wait(60_000)
  await w.pass(20_000)
  expect(present.leftAt).toBeNull()
  await w.until(again)
})
