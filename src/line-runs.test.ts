import { expect, test } from 'vitest'
import { defineDriver } from './define.ts'
import { LineClosed } from './runtime/kernel/faults.ts'
import { isRefusal } from './model/refusal.ts'
import { tieline } from './tieline.ts'

test('who waits for something on a line that is closed gets a LineClosed, and so does who asks later', async () => {
  const begun: string[] = []
  const deaf = defineDriver({
    run: (turn) => (begun.push(turn.task), new Promise<never>(() => undefined)),
  })
  const line = await tieline({ agents: { deaf: { driver: deaf } } })
  const run = line.run('deaf', 'first')
  const sent = await run.accepted
  if (isRefusal(sent)) throw new Error(sent.code)
  const read = async (): Promise<void> => {
    for await (const happened of run) void happened
  }
  const waiting: Promise<unknown>[] = [
    run.then(String),
    read(),
    line.idle(),
    line.sessions.wait(sent.session, 600_000),
  ]
  const closing = line.close()
  waiting.push(line.run('deaf', 'second').then(String))
  const ends = await Promise.allSettled(waiting)
  await closing
  ends.push(...(await Promise.allSettled([line.run('deaf', 'third').then(String)])))
  expect(ends).toEqual(ends.map(() => ({ status: 'rejected', reason: new LineClosed() })))
  expect(ends).toHaveLength(6)
  expect(new LineClosed().message).toContain('goes on when its data directory is opened again')
  expect(begun).toEqual(['first'])
})
