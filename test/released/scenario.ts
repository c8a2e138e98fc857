/** Everything that the data directory of a release should contain, done through the server's public doors. */
import { createAsk, waitUntil, type Ask, type Body } from './server.ts'

/** The ids that requests of the fixture need. */
export type Known = {
  tokens: { first: string; second: string }
  sessions: Record<'first' | 'second' | 'talk' | 'fork' | 'child' | 'spare' | 'asked', string>
  agent: string
  call: string
  refusedCall: string
  flow: string
}
type Scene = { url: string; user: Ask; first: Ask; second: Ask; known: Known }

async function must(asked: ReturnType<Ask>, ...statuses: number[]): Promise<Body> {
  const { status, body } = await asked
  if (!(statuses.length === 0 ? status < 300 : statuses.includes(status)))
    throw new Error(`${status}: ${JSON.stringify(body)}`)
  return body
}

const openSession = async (user: Ask, agent: string, title: string, more: object = {}): Promise<Body> =>
  must(user('POST', '/api/sessions', { cwd: '/tmp', agent, title, ...more }))

export async function say({ user }: Pick<Scene, 'user'>, session: string, message: string): Promise<void> {
  await must(user('POST', `/api/sessions/${session}/messages`, { message }))
  await must(user('GET', `/api/sessions/${session}/wait?timeoutMs=20000`))
}

export async function playScenario(url: string, token: string): Promise<Known> {
  const user = createAsk(url, token)
  const first = await openSession(user, 'external', 'the first client')
  const second = await openSession(user, 'external', 'the second client')
  const talk = (await openSession(user, 'planner', 'a talk')).sessionId
  const child = (await openSession(user, 'coder', 'a child', { parent: talk })).sessionId
  const spare = (await openSession(user, 'planner', 'to be archived')).sessionId
  const asked = (await openSession(user, 'coder', 'is asked')).sessionId
  const known: Known = {
    tokens: { first: first.token, second: second.token },
    sessions: { first: first.sessionId, second: second.sessionId, talk, fork: '', child, spare, asked },
    agent: '',
    call: '',
    refusedCall: '',
    flow: '',
  }
  const scene: Scene = {
    url,
    user,
    first: createAsk(url, first.token),
    second: createAsk(url, second.token),
    known,
  }
  await makeCalls(scene)
  await talkAndFork(scene)
  await writeMail(scene)
  await answerQuestions(scene)
  await keepAgent(scene)
  return known
}

async function makeCalls({ first, user, known }: Scene): Promise<void> {
  const call = (task: string, more: object = {}): ReturnType<Ask> =>
    first('POST', '/api/calls', { agent: 'planner', task, ...more })
  known.call = (await must(call('delegate this', { allow_nested_calls: true }))).call_id
  for (const more of [{}, { allow_nested_calls: true }]) await must(call('deeper', more))
  for (const task of ['refusals', 'broken', 'shape', 'background'])
    await must(call(task, { allow_nested_calls: true }))
  const { call_id: background } = await must(call('delegate later', { background: true }), 202)
  await waitUntil('the call in the background ends', async () => {
    return (await user('GET', `/api/calls/${background}`)).body.outcome !== null
  })
  await must(first('POST', '/api/calls', { agent: 'coder', task: 'x' }, { 'idempotency-key': 'key-1' }))
  await must(first('POST', '/api/calls', { agent: 'nobody', task: 'x' }), 404)
  const { calls } = await must(user('GET', '/api/calls?limit=1'))
  known.refusedCall = calls[0].call
  known.flow = (await must(user('GET', `/api/calls/${known.call}`))).flow
}

async function talkAndFork(scene: Scene): Promise<void> {
  const { user, known } = scene
  const { talk, child } = known.sessions
  for (const text of ['first words', 'delegate a thing', 'refusals', 'deeper', 'ask by mail'])
    await say(scene, talk, text)
  known.sessions.fork = (await must(user('POST', `/api/sessions/${talk}/fork`, { back: 2 }))).sessionId
  await say(scene, known.sessions.fork, 'words in the fork')
  await say(scene, talk, 'words after the fork')
  await must(user('POST', `/api/sessions/${child}/messages`, { message: 'wait' }))
  await must(user('POST', `/api/sessions/${child}/cancel`, {}))
  await say(scene, child, 'break')
  const trace = { key: 'use-1', tool: 'edit', input: { path: 'a' } }
  await must(user('POST', `/api/sessions/${known.sessions.first}/trace`, trace))
}

async function writeMail({ user, first, second, known }: Scene): Promise<void> {
  const { talk, spare } = known.sessions
  const write = (ask: Ask, id: string, message: string, more: object = {}): Promise<Body> =>
    must(ask('POST', '/api/messages', { session: talk, id, message, ...more }))
  await write(user, 'draft', 'not yet', { draft: true })
  await must(user('PATCH', '/api/messages/draft', { message: 'not yet, second version' }))
  await write(first, 'draft-of-client', 'a draft of the client', { draft: true })
  await write(user, 'waits', 'when you have time')
  await write(user, 'declined', 'no, thanks')
  await must(user('POST', '/api/messages/declined/decline', {}))
  await write(user, 'accepted', 'please read this')
  await must(user('POST', `/api/sessions/${talk}/accept`, { which: 'accepted' }))
  await must(user('GET', `/api/sessions/${talk}/wait?timeoutMs=20000`))
  await write(second, 'hello', 'hello, first', { session: known.sessions.first })
  await must(first('POST', `/api/sessions/${known.sessions.first}/accept`, { which: 'hello' }))
  await must(first('POST', '/api/messages', { message: 'hello, second', id: 'reply', reply: ['hello'] }))
  const doomed = (await openSession(user, 'planner', 'goes away')).sessionId
  await write(user, 'dead', 'too late', { session: doomed })
  await must(user('DELETE', `/api/sessions/${doomed}`))
  await write(user, 'for-spare', 'stays', { session: spare })
}

const openQuestions = async (user: Ask): Promise<Body[]> =>
  (await must(user('GET', '/api/questions'))).questions

async function answerQuestions({ user, known }: Scene): Promise<void> {
  const { asked } = known.sessions
  for (const answer of ['allow', 'deny']) {
    await must(user('POST', `/api/sessions/${asked}/messages`, { message: `may I (${answer})` }))
    await waitUntil('a question', async () => (await openQuestions(user)).length === 1)
    const [question] = await openQuestions(user)
    await must(user('POST', `/api/questions/${question.id}`, { answer }))
    await must(user('GET', `/api/sessions/${asked}/wait?timeoutMs=20000`))
  }
}

async function keepAgent({ user, known }: Scene): Promise<void> {
  const made = { name: 'keeper', system: 'You keep.', description: 'keeps', model: 'demo/paced' }
  known.agent = (await must(user('POST', '/v1/agents', made, { 'idempotency-key': 'key-2' }))).id
  await must(user('POST', `/v1/agents/${known.agent}/messages`, { input: 'remember me' }))
}

/** What is open when the server dies: a question, a client's call, and a turn that waits for its call. */
export async function openWork(url: string, token: string, known: Known): Promise<Record<string, string>> {
  const user = createAsk(url, token)
  await must(user('POST', `/api/sessions/${known.sessions.asked}/messages`, { message: 'may I (open)' }))
  await waitUntil('a question', async () => (await openQuestions(user)).length === 1)
  const [question] = await openQuestions(user)
  const first = createAsk(url, known.tokens.first)
  first('POST', '/api/calls', { agent: 'coder', task: 'wait' }).catch(() => undefined)
  const slow = (await openSession(user, 'planner', 'slow')).sessionId
  await must(user('POST', `/api/sessions/${slow}/messages`, { message: 'slowly' }))
  const open = async (): Promise<Body[]> =>
    (await must(user('GET', '/api/calls?limit=5'))).calls.filter((call: Body) => call.outcome === null)
  await waitUntil('two open calls', async () => (await open()).length === 2)
  const callFrom = async (session: string): Promise<string> =>
    (await must(user('GET', `/api/sessions/${session}/calls?limit=1`))).calls[0].call
  return {
    question: question.id,
    clientCall: await callFrom(known.sessions.first),
    slow,
    slowCall: await callFrom(slow),
  }
}
