import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cwd, home, load, loadText } from '../test/kits/config.ts'

async function own(text: string): Promise<void> {
  const directory = join(home, '.config', 'tieline')
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'tieline.toml'), text)
}

test("a found file narrows the user's limits and cannot widen them", async () => {
  await own('[limits]\ndepthMax = 3\ncallsPerMinute = 50\nflowTokensMax = 1000\nturnMsMax = 7200000\n')
  const { config } = await loadText('[limits]\ndepthMax = 5\ncallsPerMinute = 20\nmessagesPerMinute = 500\n')
  expect(config.limits).toMatchObject({
    depthMax: 3,
    callsPerMinute: 20,
    // What only one of them has, holds.
    flowTokensMax: 1000,
    turnMsMax: 7_200_000,
    messagesPerMinute: 500,
  })
})

test("a found file cannot take the user's locks away, nor enable what the user did not", async () => {
  await own(`
[tools]
enable = ["read", "list*", "send-message"]
[tools.defaults.send-message]
draft = true
[tools.locked.create_agent_session]
cwd = "."
[tools.locked.files_write]
path = "x"
[agents.mine]
driver = "scripted"
[agents.mine.mcpServers.files]
command = "true"
`)
  const { config } = await loadText(`
[tools]
enable = ["read", "shell", "list-session"]
[tools.locked.create_agent_session]
cwd = "/"
model = "m"
[tools.locked.list-session]
dir = "."
`)
  expect(config.tools).toEqual({
    enable: ['read', 'list-session'],
    defaults: { 'send-message': { draft: true } },
    // The last one is about a server that only the user's own agents have.
    locked: { create_agent_session: { cwd: '.', model: 'm' }, 'list-session': { dir: '.' } },
  })
  expect(config.agents).toEqual([])
})

test("a mistake in the user's own file is reported as such, also where another one is used", async () => {
  await own('[limits]\ndepthMax = "three"\n')
  await expect(loadText('')).rejects.toThrow(join(home, '.config', 'tieline', 'tieline.toml'))
})

test('a file that nobody agreed to changes nothing: the user has theirs', async () => {
  await own('[limits]\ndepthMax = 3\n[server]\nport = 9999\n')
  await writeFile(
    join(cwd, 'tieline.toml'),
    '[server]\nport = 1\ndataDir = "/tmp/x"\n[mail]\nstorage = "files"\n',
  )
  const loaded = await load()
  expect(loaded.file).toBe(join(home, '.config', 'tieline', 'tieline.toml'))
  expect(loaded.config).toMatchObject({
    server: { port: 9999, dataDir: join(home, '.local/share/tieline') },
    mail: { storage: 'sqlite' },
    limits: { depthMax: 3 },
  })
  expect(loaded.untrusted).toMatchObject({ file: join(cwd, 'tieline.toml'), state: 'new' })
})

test("a found file cannot loosen the user's sandbox, nor show what the user hides", async () => {
  await own('[server]\nsandbox = "required"\n[sandbox]\nnetwork = "none"\nhidden = ["/private"]\n')
  const { config } = await loadText(`
[server]
sandbox = "off"
[sandbox]
network = "any"
hidden = ["/more"]
[agents.a]
driver = "scripted"
sandbox = "off"
[agents.b]
driver = "scripted"
`)
  expect(config.server.sandbox).toBe('required')
  expect(config.sandbox).toMatchObject({ network: 'none', hidden: ['/more', '/private'] })
  expect(config.agents.map(({ sandbox }) => sandbox)).toEqual(['required', undefined])
  const stricter = await loadText('[server]\nsandbox = "required"\n[sandbox]\nnetwork = "none"\n')
  expect(stricter.config).toMatchObject({ server: { sandbox: 'required' }, sandbox: { network: 'none' } })
})

test('a file that would run programs without a sandbox says so before it is agreed to', async () => {
  await writeFile(
    join(cwd, 'tieline.toml'),
    '[sandbox]\nnetwork = "any"\nwritable = ["~/bin"]\n[agents.a]\nmodel = "x/y"\ntools = ["shell"]\nsandbox = "off"\n',
  )
  expect((await load()).untrusted?.reach).toMatchObject({
    runs: ['agent a: any command that its model chooses (shell), without a sandbox'],
    sends: ['programs of agents reach the local network'],
    writes: ['programs of agents: ~/bin'],
  })
})

test('a database and a program that notifies are shown before they are agreed to', async () => {
  await writeFile(
    join(cwd, 'tieline.toml'),
    '[server]\nhost = "0.0.0.0"\n[store]\nengine = "postgres"\nurlEnv = "SOME_KEY"\n' +
      '[notify]\ncommand = ["say", "{title}"]\n',
  )
  expect((await load()).untrusted?.reach).toMatchObject({
    runs: ['say {title} (when something needs you)'],
    sends: ['the server listens on 0.0.0.0:8283', 'the log: the database whose address is in SOME_KEY'],
    keys: ['SOME_KEY'],
  })
})
