/** One server and several projects: each session sees the agents of its own, at every door. */
import { expect, test, vi } from 'vitest'
import { patience } from '../kits/cli.ts'
import { asker, clientAt, overMcp, projectWorld, speaker } from '../kits/projects.ts'

vi.setConfig(patience)

const call = { agent: 'reviewer', task: 'say it' }

test('two projects with agents of the same name, one server, three clients: each reaches its own', async () => {
  const w = projectWorld(speaker('reviewer', 'of the user'))
  const api = w.project('api', speaker('reviewer', 'of api') + asker('lead', 'reviewer'))
  const web = w.project('web', speaker('reviewer', 'of web') + asker('lead', 'reviewer'))
  const served = await w.serve()
  const said = await Promise.all(
    [api, web, w.dir('api/deep/below'), w.dir('elsewhere')].map(async (cwd) => {
      const client = clientAt(served, cwd)
      const { sessionId } = await client.sessions.create({ cwd, agent: 'reviewer', initialMessage: 'hi' })
      await client.sessions.wait(sessionId)
      const history = await client.sessions.history(sessionId)
      return {
        http: (await client.calls.open(call)).output,
        mcp: (await overMcp(served, cwd, 'sub_agent', { agent_name: 'reviewer', task: 'say it' }))['output'],
        letta: (await client.v1.send('reviewer', { content: 'hi' })).messages
          .map((one) => one.content)
          .join(''),
        session: history.messages.at(-1)?.text,
        library: (await served.line.run('reviewer', 'hi', { cwd })).output,
      }
    }),
  )
  const all = (text: string) => ({ http: text, mcp: text, letta: text, session: text, library: text })
  expect(said).toEqual([all('of api'), all('of web'), all('of api'), all('of the user')])
  // An agent of a project calls the agents of its project.
  expect((await served.line.run('lead', 'go', { cwd: api })).output).toContain('heard of api')
  expect((await served.line.run('lead', 'go', { cwd: web })).output).toContain('heard of web')
})

test("a second project sees neither the names nor the agents of the first one's", async () => {
  const w = projectWorld(speaker('helper', 'of the user'))
  const api = w.project('api', speaker('secretary', 'of api'))
  const web = w.project('web', speaker('painter', 'of web'))
  const served = await w.serve()
  const names = async (cwd: string): Promise<string[]> =>
    (await clientAt(served, cwd).agents()).map(({ name }) => name)
  expect(await names(api)).toEqual(['secretary', 'helper'])
  expect(await names(web)).toEqual(['painter', 'helper'])
  expect(await names(w.dir('elsewhere'))).toEqual(['helper'])
  const listed = await overMcp(served, web, 'list_agents', {})
  expect(listed['agents']).toMatchObject([
    { name: 'painter', project: web, status: 'ready' },
    { name: 'helper', project: null },
  ])
  for (const name of ['secretary', 'api/secretary']) {
    const refused = await clientAt(served, web).calls.open({ agent: name, task: 'x' }).catch(String)
    expect(refused).toContain(`There is no agent "${name}". Known agents: painter, helper.`)
  }
  expect((await clientAt(served, w.root).projects()).map(({ name, state }) => [name, state])).toEqual([
    ['api', 'used'],
    ['web', 'used'],
  ])
})

test('an agent that is shared is reached from another project as "project/name"', async () => {
  const w = projectWorld()
  w.project('api', speaker('reviewer', 'of api', 'shared = true') + speaker('private', 'not yours'))
  const web = w.project('web', asker('lead', 'api/reviewer') + asker('spy', 'api/private'))
  const served = await w.serve()
  expect((await served.line.run('lead', 'go', { cwd: web })).output).toContain('heard of api')
  expect((await served.line.run('spy', 'go', { cwd: web })).output).toContain('There is no agent')
  const recorded = await served.line.calls.list({ limit: 5 })
  expect('calls' in recorded && recorded.calls.map(({ agent, outcome }) => [agent, outcome])).toEqual([
    ['api/private', 'refused'],
    ['api/reviewer', 'completed'],
  ])
})

test('a changed file counts from the next call on, and a running turn keeps what it had', async () => {
  const w = projectWorld()
  const api = w.project('api', speaker('reviewer', 'before'))
  const served = await w.serve()
  const client = clientAt(served, api)
  expect((await client.calls.open(call)).output).toBe('before')
  w.project('api', speaker('reviewer', 'after'))
  expect((await client.calls.open(call)).output).toBe('after')
  // Of the same length, and at once: what a clock cannot tell apart is read again.
  w.project('api', speaker('reviewer', 'other'))
  expect((await client.calls.open(call)).output).toBe('other')
  // The user's own file, too.
  w.put('xdg/tieline/tieline.toml', speaker('newcomer', 'of the user'))
  expect((await client.calls.open({ agent: 'newcomer', task: 'x' })).output).toBe('of the user')
  w.put('xdg/tieline/tieline.toml', 'this is no toml')
  expect((await client.calls.open({ agent: 'newcomer', task: 'x' })).output).toBe('of the user')
})

test('a file that nobody has agreed to gives nothing, before and after a change of it', async () => {
  const w = projectWorld(speaker('helper', 'of the user'))
  const text = speaker('reviewer', 'planted')
  w.put('api/tieline.toml', text)
  const api = w.dir('api')
  const served = await w.serve()
  const client = clientAt(served, w.dir('api/below'))
  const refusal = { code: 'project_untrusted' }
  await expect(client.calls.open(call)).rejects.toMatchObject(refusal)
  expect((await client.calls.open({ agent: 'helper', task: 'x' })).output).toBe('of the user')
  w.trust('api', text)
  expect((await client.calls.open(call)).output).toBe('planted')
  w.put('api/tieline.toml', speaker('reviewer', 'swapped'))
  await expect(client.calls.open(call)).rejects.toMatchObject(refusal)
  const [project] = await client.projects()
  expect(project).toMatchObject({ name: 'api', directory: api, state: 'changed' })
})

test('limits, locked tools and the subagent of a project count for its sessions only', async () => {
  const w = projectWorld(speaker('helper', 'of the user'))
  const api = w.project(
    'api',
    `${speaker('reviewer', 'of api')}[limits]\ntaskBytesMax = 10\n` +
      '[subagent]\nagent = "reviewer"\n[tools]\nenable = ["sub_agent", "subagent"]\n',
  )
  const served = await w.serve()
  const long = { agent: 'helper', task: 'a task of more than ten bytes' }
  await expect(clientAt(served, api).calls.open(long)).rejects.toMatchObject({ code: 'too_large' })
  expect((await clientAt(served, w.dir('elsewhere')).calls.open(long)).output).toBe('of the user')
  const tools = async (cwd: string) => (await clientAt(served, cwd).tools.list()).map(({ name }) => name)
  expect(await tools(api)).toEqual(expect.arrayContaining(['sub_agent', 'subagent']))
  expect(await tools(api)).not.toContain('send-message')
  expect(await tools(w.dir('elsewhere'))).toContain('send-message')
  expect(await tools(w.dir('elsewhere'))).not.toContain('subagent')
})

test('after a restart a session of a project finds its agent again, and its turns can be replayed', async () => {
  const w = projectWorld()
  const api = w.project('api', speaker('reviewer', 'of api') + asker('lead', 'reviewer'))
  const first = await w.serve()
  const ran = await first.line.run('lead', 'go', { cwd: api })
  expect((await first.line.log.replay(ran.flow ?? '')).turns.map(({ equal }) => equal)).toEqual([true, true])
  await first.close()
  const second = await w.serve()
  const again = await second.line.run('lead', 'again', { session: ran.session ?? '' })
  expect(again.output).toContain('heard of api')
  expect((await second.line.log.replay(ran.flow ?? '')).turns.every(({ equal }) => equal)).toBe(true)
})

test('a project whose configuration has a mistake says which, and the others go on', async () => {
  const w = projectWorld()
  const api = w.project('api', `${speaker('reviewer', 'of api')}tools = ["no_such_tool"]\n`)
  const web = w.project('web', speaker('reviewer', 'of web'))
  const served = await w.serve()
  await expect(clientAt(served, api).calls.open(call)).rejects.toMatchObject({
    message: expect.stringContaining('there is no tool "no_such_tool"'),
  })
  expect((await clientAt(served, web).calls.open(call)).output).toBe('of web')
})

test('whoever spawns in another project brings an agent of its own, not one of that project', async () => {
  const w = projectWorld(speaker('painter', 'of the user'))
  const web = w.project('web', speaker('reviewer', 'of web') + speaker('painter', 'of web'))
  const api = w.project('api', speaker('reviewer', 'of api'))
  const served = await w.serve()
  const spawned = async (agent: string) => {
    const input = { cwd: web, agent, initialMessage: 'hi' }
    const made = await overMcp(served, api, 'create_agent_session', input)
    if (typeof made['sessionId'] !== 'string') return made
    await clientAt(served, api).sessions.wait(made['sessionId'])
    const { messages } = await clientAt(served, api).sessions.history(made['sessionId'])
    return [made['agent'], messages.at(-1)?.text]
  }
  expect(await spawned('reviewer')).toEqual(['api/reviewer', 'of api'])
  expect(await spawned('painter')).toEqual(['~/painter', 'of the user'])
})
