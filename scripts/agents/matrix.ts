/** What every client must be able to do, as checks over one scripted turn or two. */
import assert from 'node:assert/strict'
import { askProgram, type Ran } from './process.ts'
import { agentPrograms, type AgentProgram } from './programs.ts'
import { addRules, listRequests, scriptTurn, secret, waitFor, type Round, type World } from './world.ts'

export const columns = [
  'cold start',
  'sub_agent',
  'refusal',
  'mail',
  'two sessions',
  'cancel',
  'told of mail',
] as const
export type Column = (typeof columns)[number]

/** What was found, or why not. */
export type Cell = { passed: boolean; text: string }
export type Row = { program: AgentProgram; cells: Partial<Record<Column, Cell>> }

/** After Ctrl-C, what the client had called must end soon. */
const cancelMsMax = 10_000

type Turn = { ran: Ran; results: string[]; tools: string }

async function runTurn(
  world: World,
  program: AgentProgram,
  turn: { directory: string; prompt: string; rounds: readonly Round[] },
): Promise<Turn> {
  scriptTurn(world, program, turn.prompt, turn.rounds, `Done: ${turn.prompt}`)
  const ran = await askProgram(program, world, turn.directory, turn.prompt).ended
  const requests = listRequests(world, turn.prompt)
  const results = requests.at(-1)?.results ?? []
  const said = `${ran.out}\n${ran.err}`.slice(-2000)
  assert.equal(results.length, turn.rounds.length, `it used ${results.length} tools\n${said}`)
  assert.ok(ran.out.includes(`Done: ${turn.prompt}`), `it did not answer (exit code ${ran.code})\n${said}`)
  return { ran, results, tools: JSON.stringify(requests[0]?.body['tools'] ?? []) }
}

/** A field of a result, however the client wraps it. */
function find(results: readonly string[], at: number, field: string): string {
  const text = (results[at] ?? '').replaceAll('\\"', '"')
  const found = new RegExp(`"${field}":"([^"\\\\]+)"`).exec(text)?.[1]
  assert.ok(found, `no ${field} in ${text.slice(0, 1000)}`)
  return found
}

/** The model must always say something, so this does not throw. */
const idIn = ([first]: readonly string[]): string =>
  /"id":"([\w-]+)"/.exec((first ?? '').replaceAll('\\"', '"'))?.[1] ?? 'none'

/** Collects what passes, so that one fault hides no other. */
async function fill(
  row: Row,
  names: readonly Column[],
  work: () => Promise<Partial<Record<Column, string>>>,
): Promise<void> {
  try {
    const found = await work()
    for (const name of names) row.cells[name] = { passed: true, text: found[name] ?? 'yes' }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    for (const name of names) row.cells[name] ??= { passed: false, text }
  }
}

export async function checkProgram(world: World, program: AgentProgram): Promise<Row> {
  const row: Row = { program, cells: {} }
  const directory = world.directory(program.id)
  // One that does not say which of its sessions asks is told apart by its directory.
  const second = world.directory(program.saysSession ? program.id : `${program.id}-second`)
  const seen: string[] = []
  await fill(row, ['cold start', 'sub_agent'], async () => {
    seen.push(await checkColdStart(world, program, directory))
    return {}
  })
  await fill(row, ['refusal', 'mail', 'two sessions'], async () => {
    const session = await checkMail(world, program, second)
    assert.ok(!seen.includes(session), `both sessions are ${session}`)
    return { 'two sessions': program.saysSession ? 'by its id' : 'by directory' }
  })
  if (program.addHooks === undefined) row.cells['told of mail'] = { passed: true, text: 'only if it looks' }
  else
    await fill(row, ['told of mail'], async () => {
      program.addHooks?.(world)
      return { 'told of mail': await checkTold(world, program, world.directory(`${program.id}-told`)) }
    })
  await fill(row, ['cancel'], async () => ({ cancel: await checkCancel(world, program, directory) }))
  return row
}

/** Without a server, the tools are there in the first request, and the call succeeds. */
async function checkColdStart(world: World, program: AgentProgram, directory: string): Promise<string> {
  if (world.server() !== null) await world.tieline('stop')
  assert.equal(world.server(), null, 'a server still runs')
  const { results, tools } = await runTurn(world, program, {
    directory,
    prompt: `Ask coder for the word, ${program.id}`,
    rounds: [{ tool: 'sub_agent', input: { agent_name: 'coder', task: 'Say the secret word' } }],
  })
  assert.ok(tools.includes('sub_agent') && tools.includes('wait_for_mail'), 'its first request had no tools')
  assert.ok(results[0]?.includes(secret), `the answer did not come: ${results[0]}`)
  assert.ok(find(results, 0, 'you').startsWith(`ses_client-${program.clientName}_`))
  return find(results, 0, 'you')
}

/** A refusal that its model can read; then a message to the next program, which answers while it waits. */
async function checkMail(world: World, program: AgentProgram, directory: string): Promise<string> {
  const other = agentPrograms[(agentPrograms.indexOf(program) + 1) % agentPrograms.length] ?? program
  const address = `${other.clientName}@${world.directory(other.id)}`
  const prompt = `Write to ${other.id} and wait, ${program.id}`
  const [ping, pong] = [`Ping from ${program.id}`, `Pong from ${other.id}`]
  const turn = runTurn(world, program, {
    directory,
    prompt,
    rounds: [
      { tool: 'sub_agent', input: { agent_name: 'codre', task: 'Say the secret word' } },
      { tool: 'send-message', input: { session: address, message: ping } },
      { tool: 'wait_for_mail', input: { timeout_seconds: 50 } },
      { tool: 'buffer', input: { accept: true } },
    ],
  })
  const sent = waitFor('a message', () =>
    listRequests(world, prompt).some(({ results }) => results.length >= 2),
  )
  await Promise.race([sent, turn])
  const answer = await runTurn(world, other, {
    directory: world.directory(other.id),
    prompt: `Answer ${program.id} from ${other.id}`,
    rounds: [
      { tool: 'buffer', input: { accept: true } },
      { tool: 'send-message', input: ({ results }) => ({ reply: [idIn(results)], message: pong }) },
    ],
  })
  const { results } = await turn
  assert.ok(
    answer.results[0]?.includes(ping),
    `the message did not come: ${answer.results[0]}\nsent: ${results[1]}`,
  )
  assert.ok(idIn([answer.results[1] ?? '']) !== 'none', `no reply: ${answer.results[1]}`)
  assert.match(results[0] ?? '', /no agent.*codre.*coder/is)
  assert.doesNotMatch(results[0] ?? '', /-32602|does not match/)
  assert.ok(results[3]?.includes(pong), `the reply did not come: ${results[3]}`)
  return find(results, 1, 'you')
}

/** Ctrl-C ends what it has called. */
async function checkCancel(world: World, program: AgentProgram, directory: string): Promise<string> {
  const prompt = `Ask sleeper, ${program.id}`
  const client = world.client()
  scriptTurn(
    world,
    program,
    prompt,
    [{ tool: 'sub_agent', input: { agent_name: 'sleeper', task: 'Sleep' } }],
    'Done',
  )
  const running = askProgram(program, world, directory, prompt)
  const findCall = async () =>
    (await client.calls.list()).find(({ agentName, outcome }) => agentName === 'sleeper' && outcome === null)
  try {
    const call = await waitFor('the call', findCall)
    const beganAt = Date.now()
    running.signal('SIGINT')
    const { outcome } = await waitFor('its end', async () => {
      const record = await client.calls.get(call.call)
      return record.outcome !== null && record
    })
    const ms = Date.now() - beganAt
    assert.equal(outcome, 'cancelled')
    assert.ok(ms < cancelMsMax, `it ran on for ${ms} ms`)
    return `${ms} ms`
  } finally {
    running.signal('SIGKILL')
    await running.ended
  }
}

/**
 * Mail that waits is announced with the prompt, without its text; a reply that comes while the program works makes
 * it go on when it would rest, with the text.
 */
async function checkTold(world: World, program: AgentProgram, directory: string): Promise<string> {
  const prompt = `Ask the peer and rest, ${program.id}`
  const client = world.client()
  const { sessionId: peer } = await client.sessions.create({ cwd: directory, agent: 'external' })
  await client.mail.send({
    from: peer,
    session: `${program.clientName}@${directory}`,
    message: 'a text that is only announced',
  })
  const woken = `Woken, ${program.id}`
  scriptTurn(
    world,
    program,
    prompt,
    [{ tool: 'send-message', input: { session: peer, message: prompt } }],
    'I rest',
  )
  addRules(world, { when: { user: 'a reply to your message' }, text: woken })
  // The reply is there before the turn ends.
  for (const rule of world.fake.rules) if (rule.text === 'I rest') rule.delayMs = restMs
  const running = askProgram(program, world, directory, prompt)
  const question = await waitFor('the question', async () =>
    (await client.mail.inbox(peer)).messages.find(({ message }) => message.includes(prompt)),
  )
  // A reply that is there when the tool ends is told with its result, and wakes nobody.
  await waitFor('the request after the tool', () =>
    listRequests(world, prompt).some(({ results }) => results.length > 0),
  )
  await client.tools.use('buffer', { accept: question.id }, { session: peer })
  await client.mail.send({ from: peer, reply: [question.id], message: 'the answer is 42' })
  const ran = await running.ended
  const [first] = listRequests(world, prompt)
  const read = JSON.stringify(first?.body ?? {})
  assert.ok(read.includes('a message waits'), 'its first request did not say that a message waits')
  assert.ok(!read.includes('only announced'), 'the text of the message was shown')
  const last = world.fake.requests.findLast(({ user }) => user.includes('a reply to your message'))
  assert.ok(last?.user.includes('the answer is 42'), `it was not woken: ${ran.out}${ran.err}`)
  assert.ok(ran.out.includes(woken), ran.out)
  return 'yes, and woken'
}
const restMs = 8000
