/** Clients that take their time, never read, or hang up in the middle. */
import { ask, pause, post, speak, type Family, type Target } from '../attack.ts'

const head = (line: string, more: string): string => `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\n${more}`
const ownHead = ({ url }: Target, more: string): string =>
  `POST /api/calls HTTP/1.1\r\nhost: ${new URL(url).host}\r\ncontent-type: application/json\r\n${more}`
const drip = (text: string): string[] => text.match(/[\s\S]{1,7}/g) ?? []

async function hangUp(target: Target): Promise<'cut'> {
  const gone = new AbortController()
  const work = post({ ...target, signal: AbortSignal.any([gone.signal, target.signal]) }, '/api/calls', {
    agent: 'sleeper',
    task: 'x',
    timeout_seconds: 5,
  })
  await pause(target.random.below(300), target.signal)
  gone.abort()
  await work
  return 'cut'
}

export const slow: Family = {
  name: 'slow',
  attacks: [
    {
      kind: 'slow: headers in drops',
      try: (target) =>
        speak(
          target,
          drip(head('POST /api/calls', 'content-type: application/json\r\ncontent-length: 10\r\nx-a: b\r\n')),
          100,
        ),
    },
    {
      kind: 'slow: body in drops',
      try: (target) =>
        speak(
          target,
          [
            head('POST /api/calls', 'content-type: application/json\r\ncontent-length: 400\r\n\r\n'),
            ...drip('{"agent":"clerk","task":"xxxxxxxxx'),
          ],
          100,
        ),
    },
    {
      kind: 'slow: a body that never comes',
      try: (target) => speak(target, [head('POST /v1/agents', 'content-length: 1000000\r\n\r\n')], 3000),
    },
    {
      kind: 'slow: two lengths',
      try: (target) =>
        speak(target, [head('POST /api/calls', 'content-length: 4\r\ncontent-length: 5\r\n\r\nabcde')], 50),
    },
    {
      kind: 'slow: chunks and a length',
      try: (target) =>
        speak(
          target,
          [
            head(
              'POST /api/calls',
              'transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n',
            ),
          ],
          50,
        ),
    },
    {
      kind: 'slow: no HTTP at all',
      try: (target) => speak(target, ['\u0016\u0003\u0001\u0002\u0000', '\n\n\n'], 50),
    },
    {
      kind: 'slow: a thousand requests in one write',
      try: (target) => speak(target, [head('GET /health', '\r\n').repeat(1000)], 500, false),
    },
    {
      kind: 'slow: events that nobody reads',
      try: (target) =>
        speak(target, [head('GET /api/events?after=0', 'accept: text/event-stream\r\n\r\n')], 2500, false),
    },
    {
      kind: 'slow: many readers that do not read',
      try: async (target) =>
        (
          await Promise.all(
            Array.from({ length: 20 }, () =>
              speak(target, [head('GET /api/events?after=0', '\r\n')], 2000, false),
            ),
          )
        )[0] ?? 'cut',
    },
    { kind: 'slow: hangs up while it is answered', try: hangUp },
    {
      kind: 'slow: a long extension of a chunk',
      try: (target) =>
        speak(
          target,
          [ownHead(target, 'transfer-encoding: chunked\r\n\r\n') + `2;a=${'x'.repeat(500_000)}\r\n{}\r\n`],
          300,
        ),
    },
    {
      kind: 'slow: asks whether to go on, and does not',
      try: (target) =>
        speak(target, [ownHead(target, 'expect: 100-continue\r\ncontent-length: 900000\r\n\r\n')], 1500),
    },
    {
      kind: 'slow: calls in one write',
      try: (target) => {
        const body = '{"agent":"clerk","task":"one of many"}'
        return speak(
          target,
          [ownHead(target, `content-length: ${body.length}\r\n\r\n${body}`).repeat(40)],
          2000,
        )
      },
    },
    {
      kind: 'slow: connections that say nothing',
      try: async (target) =>
        (await Promise.all(Array.from({ length: 200 }, () => speak(target, [''], 1500))))[0] ?? 'cut',
    },
    {
      kind: 'slow: reads a long list and stops',
      try: (target) => speak(target, [head('GET /api/calls?limit=500', '\r\n')], 1500, false),
    },
    {
      kind: 'slow: a wait that is left',
      try: (target) =>
        ask(
          { ...target, signal: AbortSignal.any([AbortSignal.timeout(400), target.signal]) },
          'GET',
          `/api/sessions/${target.sessions[0] ?? ''}/wait?timeoutMs=50000`,
        ),
    },
  ],
}
