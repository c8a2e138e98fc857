/** Mail on the command line, as processes of their own. */
import { beforeAll, expect, test, vi } from 'vitest'
import { cli, json, patience, project, start, type Started } from '../kits/cli.ts'

vi.setConfig(patience)

const place = project()
let server: Started
beforeAll(async () => {
  server = start(place.cwd, ['serve', '--json'])
  await server.says('"url"')
})

test('a message waits in the inbox, is listed for a person, accepted once, and worked on', async () => {
  const { session } = json<{ session: string }>(await cli(place.cwd, 'run', 'tea', '--json'))
  expect(await cli(place.cwd, 'inbox')).toMatchObject({ code: 0, out: 'No messages wait.\n' })
  expect(
    await cli(place.cwd, 'send', session, 'when you have time', '--buffer', '--id', 'letter'),
  ).toMatchObject({ code: 0, out: `letter buffered to ${session}\n` })
  const listed = await cli(place.cwd, 'inbox')
  expect(listed.out).toMatch(
    new RegExp(
      `^For boss \\(${session}\\): one message waits\\n 1  the user +[\\d.]+s ago\\n` +
        `    letter\\n    when you have time\\n    tieline accept ${session} `,
    ),
  )
  expect(json<{ id: string }[]>(await cli(place.cwd, 'inbox', session, '--json'))).toMatchObject([
    { id: 'letter', status: 'buffered' },
  ])
  expect(await cli(place.cwd, 'accept', session, '1')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Accepted letter from the user\n {2}when you have time\n/) as unknown,
  })
  expect(await cli(place.cwd, 'accept', session)).toMatchObject({
    code: 1,
    err: 'No messages wait.\n',
    out: '',
  })
  expect(await cli(place.cwd, 'accept', session, 'letter')).toMatchObject({
    code: 1,
    err: expect.stringContaining('by the user') as unknown,
  })
})

test('a draft is kept, changed, listed and released; a part of an id that fits nobody is told', async () => {
  const { session } = json<{ session: string }>(await cli(place.cwd, 'run', 'tea', '--json'))
  await cli(place.cwd, 'send', session, 'first', '--draft', '--id', 'plan')
  expect(await cli(place.cwd, 'send', session, 'second', '--draft', '--id', 'plan')).toMatchObject({
    code: 0,
    out: `plan draft to ${session}\n`,
  })
  expect((await cli(place.cwd, 'inbox', 'me', '--drafts')).out).toMatch(
    new RegExp(
      `^the user to boss \\(${session}\\) .*\\n    plan\\n    second\\n +tieline inbox --release plan `,
    ),
  )
  expect(await cli(place.cwd, 'inbox', '--release', 'plan')).toMatchObject({
    code: 0,
    out: `plan buffered to ${session}\n`,
  })
  expect(await cli(place.cwd, 'inbox', '--decline', 'plan', '--json')).toMatchObject({
    code: 0,
    out: expect.stringContaining('"status":"declined"') as unknown,
  })
  expect((await cli(place.cwd, 'inbox', '--thread', 'plan')).out).toContain('declined')
  expect(await cli(place.cwd, 'inbox', 'ses_nobody')).toMatchObject({
    code: 1,
    err: expect.stringContaining('ses_nobody') as unknown,
  })
  expect((await cli(place.cwd, 'inbox', '--dead')).out).toBe('There are no dead letters.\n')
})

test('the draft of an agent is listed, changed and released by the user', async () => {
  const { session } = json<{ session: string }>(await cli(place.cwd, 'run', 'tea', '--json'))
  const { url } = JSON.parse(
    server
      .out()
      .split('\n')
      .find((line) => line.includes('"url"')) ?? '',
  ) as { url: string }
  const own = await fetch(`${url}/api/sessions`, {
    method: 'POST',
    body: JSON.stringify({ cwd: place.cwd, agent: 'external' }),
  }).then((answer) => answer.json() as Promise<{ sessionId: string }>)
  await fetch(`${url}/api/messages`, {
    method: 'POST',
    body: JSON.stringify({
      from: own.sessionId,
      session,
      message: 'words of an agent',
      id: 'agents',
      draft: true,
    }),
  })
  expect((await cli(place.cwd, 'inbox')).out).toMatch(
    /One draft waits to be released: tieline inbox --drafts\n$/,
  )
  expect(json<{ id: string }[]>(await cli(place.cwd, 'inbox', '--drafts', '--json'))).toMatchObject([
    { id: 'agents', from: own.sessionId },
  ])
  expect(await cli(place.cwd, 'inbox', '--revise', 'agents')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--text') as unknown,
  })
  expect(await cli(place.cwd, 'inbox', '--revise', 'agents', '--text', 'words of a person')).toMatchObject({
    code: 0,
    out: 'agents draft\n',
  })
  expect(await cli(place.cwd, 'inbox', '--release', 'agents')).toMatchObject({
    code: 0,
    out: `agents buffered to ${session}\n`,
  })
  expect(json<{ id: string }[]>(await cli(place.cwd, 'inbox', session, '--json'))).toMatchObject([
    { id: 'agents', from: own.sessionId, message: 'words of a person' },
  ])
  expect(await cli(place.cwd, 'inbox', '--release', 'nothing')).toMatchObject({
    code: 1,
    err: expect.stringContaining('nothing') as unknown,
  })
})

test('an inbox that is longer than one answer is listed whole', async () => {
  const { session } = json<{ session: string }>(await cli(place.cwd, 'run', 'tea', '--json'))
  const { url } = JSON.parse(
    server
      .out()
      .split('\n')
      .find((line) => line.includes('"url"')) ?? '',
  ) as { url: string }
  const ids = Array.from({ length: 8 }, (_, n) => `long-${n}`)
  for (const messageId of ids)
    await fetch(`${url}/api/sessions/${session}/messages`, {
      method: 'POST',
      body: JSON.stringify({ message: `${messageId} ${'-'.repeat(100_000)}`, messageId, delivery: 'buffer' }),
      headers: { 'content-type': 'application/json' },
    })
  const { next } = (await (await fetch(`${url}/api/sessions/${session}/inbox`)).json()) as { next: unknown }
  expect(next).not.toBeNull()
  const listed = json<{ id: string }[]>(await cli(place.cwd, 'inbox', session, '--json'))
  expect(listed.map(({ id }) => id)).toEqual(ids)
})
