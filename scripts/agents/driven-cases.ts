/** What every driven agent must be able to do, as callee and as caller. Each answers with what the table shows. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FakeTool } from '../../test/kits/fake-model.ts'
import { script, until, nobodyLeft, type Lane } from './driven-lane.ts'
import type { AgentId, AgentProgram } from './programs.ts'

/** A busy machine may need long for a first start. */
const startMsMax = 240_000
const cancelMsMax = 10_000
const lateMsMax = 3000

export type DrivenCase = {
  column: string
  run: (lane: Lane, program: AgentProgram) => Promise<string>
}

/** How the model of each runs a command in such a way that it asks for leave. */
const shells: Readonly<Record<AgentId, (command: string) => FakeTool>> = {
  claude: (command) => ({ name: 'Bash', input: { command, description: 'Makes a file' } }),
  codex: (cmd) => ({
    name: 'exec_command',
    input: { cmd, sandbox_permissions: 'require_escalated', justification: 'May it make a file?' },
  }),
  opencode: (command) => ({ name: 'bash', input: { command, description: 'Makes a file' } }),
  copilot: (command) => ({ name: 'bash', input: { command, description: 'Makes a file' } }),
  gemini: (command) => ({ name: 'run_shell_command', input: { command, description: 'Makes a file' } }),
}

let prompts = 0
/** A sentence that no other prompt has, so that the model's rules find it. */
const nextPrompt = (as: string): string => `Do the work number ${(prompts += 1)} now, ${as}.`

function expectThat(holds: boolean, what: string, got: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(got).slice(0, 1500)}`)
}

const readCall = async (lane: Lane, task: string) => {
  const calls = await lane.client().calls.list({ limit: 100 })
  const listed = calls.find((one) => one.task.includes(task))
  return listed === undefined ? null : lane.client().calls.get(listed.call)
}

/** Answers what is asked until `over` has settled; how often it was asked. */
async function allowAll(lane: Lane, over: Promise<unknown>): Promise<number> {
  let [isOver, asks] = [false, 0]
  void over.finally(() => (isOver = true)).catch(() => undefined)
  await until('the end', startMsMax * 2, async () => {
    for (const { id } of await lane.client().questions.list()) {
      await lane.client().questions.answer(id, 'allow')
      asks += 1
    }
    return isOver
  })
  return asks
}

/** A model agent calls it; it asks a person for leave to run a command, and calls back into Tieline. */
const works: DrivenCase = {
  column: 'called, asks, calls back',
  async run(lane, program) {
    const [root, prompt] = [nextPrompt('asker'), nextPrompt(program.id)]
    const [file, task] = [join(lane.directory, `allowed-${program.id}`), nextPrompt('coder')]
    const input = { agent_name: program.id, task: prompt, allow_nested_calls: true }
    script(lane, root, [{ name: 'sub_agent', input }], { text: 'Asked.' })
    const back = { ...program.nameTool('sub_agent'), input: { agent_name: 'coder', task } }
    script(lane, prompt, [shells[program.id](`touch '${file}'`), back], { text: 'I have done it.' })
    const beganAt = Date.now()
    const answering = lane.client().calls.open({ agent: 'asker', task: root, allow_nested_calls: true })
    const began = untilAsked(lane, prompt).then(() => (lane.startedMs = Date.now() - beganAt))
    const [asks, answer] = await Promise.all([allowAll(lane, answering), answering, began])
    const [own, below] = [await readCall(lane, prompt), await readCall(lane, task)]
    expectThat(answer.outcome === 'completed', 'the model agent failed', answer)
    expectThat(own?.output.includes('I have done it') === true, 'no answer', own)
    expectThat(asks > 0, 'nobody was asked for leave', own)
    expectThat(existsSync(file), 'what was allowed was not done', own)
    expectThat(below?.depth === 3 && below.outcome === 'completed', 'no place in the tree', below)
    const heard = lane.fake.requests.some(
      ({ user, body }) => user.includes(prompt) && JSON.stringify(body).includes('tangerine'),
    )
    expectThat(heard, 'the answer did not come back', own)
    return `${asks} asked`
  },
}

/** Twice as long as it needed before to ask its model, so that it has begun to work on any machine. */
const findDeadline = ({ startedMs }: Lane): number => Math.ceil((2 * startedMs) / 1000) + 5

const keepsDeadline: DrivenCase = {
  column: 'deadline',
  async run(lane, program) {
    const [prompt, task] = [nextPrompt(program.id), nextPrompt('sleeper')]
    const input = { agent_name: 'sleeper', task }
    // Its callee ends a little before it, and then its model says nothing any more.
    script(lane, prompt, [{ ...program.nameTool('sub_agent'), input }], { hang: 'before' })
    const seconds = findDeadline(lane)
    const answering = lane.client().calls.open({
      agent: program.id,
      task: prompt,
      allow_nested_calls: true,
      timeout_seconds: seconds,
    })
    const [answer] = await Promise.all([answering, allowAll(lane, answering)])
    expectThat(answer.outcome === 'timed_out', 'it did not time out', answer)
    expectThat(answer.output.includes('working on'), 'what it had said is not there', answer)
    const late = ((await lane.client().calls.get(answer.call_id)).durationMs ?? 0) - seconds * 1000
    expectThat(late < lateMsMax, 'it came too late', late)
    const below = await readCall(lane, task)
    expectThat(['timed_out', 'cancelled'].includes(below?.outcome ?? ''), 'its callee runs on', below)
    return `${late} ms`
  },
}

/** Kills the server in the middle of a turn: nobody is left, and the next server brings it to one outcome. */
const survivesKill: DrivenCase = {
  column: 'kill -9',
  async run(lane, program) {
    const prompt = nextPrompt(program.id)
    script(lane, prompt, [], { hang: 'before' })
    const { call_id: id } = await lane
      .client()
      .calls.open({ agent: program.id, task: prompt, background: true })
    await untilAsked(lane, prompt)
    await lane.kill()
    await nobodyLeft(lane)
    for (const rule of lane.fake.rules.splice(0)) if (rule.when?.user !== prompt) lane.fake.rules.push(rule)
    await lane.start()
    const record = await until('an outcome', startMsMax, async () => {
      const found = await lane.client().calls.get(id)
      return found.outcome !== null && found
    })
    expectThat(['completed', 'lost'].includes(record.outcome ?? ''), 'another outcome', record)
    return record.outcome === 'completed' ? 'resumed' : 'lost'
  },
}

const untilAsked = (lane: Lane, prompt: string): Promise<boolean> =>
  until('its model is asked', startMsMax, () => lane.fake.requests.some(({ user }) => user.includes(prompt)))

/** The first shows how long it takes to start. */
export const drivenCases: readonly DrivenCase[] = [works, keepsDeadline, survivesKill]

/** One calls the other through Tieline, in its own turn, at depth 2; the answer is in its next request. */
export async function callsOther(lane: Lane, caller: AgentProgram, callee: AgentProgram): Promise<void> {
  const [prompt, task] = [nextPrompt(caller.id), nextPrompt(callee.id)]
  const input = { agent_name: callee.id, task }
  const end = `Done by ${callee.id}, number ${prompts}.`
  script(lane, task, [], { text: end })
  script(lane, prompt, [{ ...caller.nameTool('sub_agent'), input }], { text: 'It said it.' })
  const answering = lane.client().calls.open({ agent: caller.id, task: prompt, allow_nested_calls: true })
  const [answer] = await Promise.all([answering, allowAll(lane, answering)])
  const below = await readCall(lane, task)
  expectThat(below?.depth === 2 && below.outcome === 'completed', 'no place in the tree', { answer, below })
  const heard = lane.fake.requests.some(
    ({ user, body }) => user.includes(prompt) && JSON.stringify(body).includes(end),
  )
  expectThat(heard, 'the answer did not come back', answer)
}

/** Cancelled while the other works for it: both end, with their processes. */
export async function cancelsOther(lane: Lane, caller: AgentProgram, callee: AgentProgram): Promise<string> {
  const [prompt, task] = [nextPrompt(caller.id), nextPrompt(callee.id)]
  const input = { agent_name: callee.id, task }
  script(lane, task, [], { hang: 'before' })
  script(lane, prompt, [{ ...caller.nameTool('sub_agent'), input }], { text: 'It said it.' })
  const client = lane.client()
  const answering = client.calls.open({ agent: caller.id, task: prompt, allow_nested_calls: true })
  const asked = allowAll(lane, answering)
  // Whichever fails first is the failure of this case, and of no other.
  await Promise.race([untilAsked(lane, task), asked])
  const beganAt = Date.now()
  await client.sessions.cancel((await readCall(lane, prompt))?.targetSession ?? '')
  const answer = await answering
  await asked
  const below = await readCall(lane, task)
  expectThat(answer.outcome === 'cancelled' && below?.outcome === 'cancelled', 'it was not cancelled', {
    answer,
    below,
  })
  const ms = Date.now() - beganAt
  expectThat(ms < cancelMsMax, 'it ran on', ms)
  return `${ms} ms`
}
