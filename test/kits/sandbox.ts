/** A home directory with things to steal, programs to talk to, and an agent with `shell` in a project inside. */
import { createServer } from 'node:http'
import { createServer as createSocketServer, type AddressInfo, type Server } from 'node:net'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { findSandbox } from '../../src/adapters/sandbox/probe.ts'
import { openServer, type OpenServer } from '../../src/open-server.ts'
import type { Json } from '../../src/model/json.ts'
import { isRefusal } from '../../src/model/refusal.ts'
import { sayUntried } from './peers.ts'

const found = await findSandbox()
export const noSandbox = sayUntried('the sandbox (needs bubblewrap and perl)', found.kind === 'bubblewrap')

export type Ran = { exit_code: number | null; stdout: string; stderr: string; timed_out: boolean }

export type Prison = {
  home: string
  project: string
  dataDir: string
  served: OpenServer
  /** Told by the other programs on this machine when somebody came to them. */
  visits: string[]
  variables: Record<string, string>
  /** The agent's own `shell`. */
  run: (command: string, timeoutSeconds?: number) => Promise<Ran>
}

const files = {
  '.bashrc': '# mine\n',
  '.npmrc': '//registry/:_authToken=sk-npm\n',
  '.ssh/id_ed25519': 'sk-ssh\n',
  '.codex/auth.json': '{"key":"sk-codex"}\n',
  '.npm/known': '',
  '.local/bin/tool': '',
  'other/file': 'of another\n',
  'other/.git/hooks/pre-commit': '#!/bin/sh\n',
  '.config/tieline/tieline.toml': '',
}

/** Not below /tmp, which is hidden anyway. */
export async function openPrison(settings = ''): Promise<Prison> {
  const base = mkdtempSync(join(homedir(), '.tieline-test-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const home = join(base, 'home')
  const [project, dataDir] = [join(home, 'project'), join(home, '.local/share/tieline')]
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), text)
  }
  for (const path of [project, dataDir]) mkdirSync(path, { recursive: true })
  const config = join(home, '.config/tieline/tieline.toml')
  writeFileSync(config, settings)
  const [homeBefore, xdgBefore] = [process.env['HOME'], process.env['XDG_CONFIG_HOME']]
  Object.assign(process.env, { HOME: home, TIELINE_TEST_SECRET_KEY: 'sk-in-the-server' })
  delete process.env['XDG_CONFIG_HOME']
  onTestFinished(() => {
    process.env['HOME'] = homeBefore
    if (xdgBefore !== undefined) process.env['XDG_CONFIG_HOME'] = xdgBefore
    delete process.env['TIELINE_TEST_SECRET_KEY']
  })
  const visits: string[] = []
  const abstract = `tieline-${process.pid}-${dirname(base).length}-${base.slice(-6)}`
  const port = await listenEverywhere(home, project, abstract, visits)
  const orders: { command: string; timeout: number; resolve: (ran: Ran) => void }[] = []
  let wake = (): void => undefined
  const served = await openServer({
    dataDir,
    config,
    port: 0,
    cwd: project,
    agents: {
      other: { script: () => new Promise(() => undefined) },
      prisoner: {
        tools: ['shell'],
        script: async (turn) => {
          for (;;) {
            const order = orders.shift()
            if (order === undefined) await new Promise<void>((resolve) => (wake = resolve))
            else
              order.resolve(
                readRan(
                  (await turn.tool('shell', { command: order.command, timeout_seconds: order.timeout }))
                    .value,
                ),
              )
          }
        },
      },
    },
    limitsOfHttp: { requestsPerMinute: 1_000_000 },
  })
  onTestFinished(() => served.close())
  const open = async (agent: string): Promise<string> => {
    const made = await served.line.sessions.create({ cwd: project, agent })
    if (isRefusal(made)) throw new Error(made.code)
    return made.sessionId
  }
  const [other, own] = [await open('other'), await open('prisoner')]
  await served.line.sessions.send(own, { message: 'try' })
  const address = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find((one) => one.family === 'IPv4' && !one.internal)?.address
  return {
    home,
    project,
    dataDir,
    served,
    visits,
    variables: {
      OTHER_SESSION: other,
      OTHER_PORT: String(port),
      OWN_ADDRESS: address ?? '192.0.2.1',
      PROJECT: project,
      ABSTRACT: abstract,
      DATA_DIR: dataDir,
      SERVER_PID: String(process.pid),
    },
    run: (command, timeoutSeconds = 20) =>
      new Promise((resolve) => {
        orders.push({ command, timeout: timeoutSeconds, resolve })
        wake()
      }),
  }
}

const readRan = (value: Json): Ran => value as Ran

/** Other programs of this user: on loopback, at Unix sockets, and at an abstract one. */
async function listenEverywhere(
  home: string,
  project: string,
  abstract: string,
  visits: string[],
): Promise<number> {
  const keep = async (server: Server, at: string | number): Promise<void> => {
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(at, resolve))
  }
  const http = createServer((request, response) => {
    visits.push(`http ${request.url ?? ''}`)
    response.end('ESCAPED')
  })
  onTestFinished(() => void http.close())
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  for (const path of [
    join(home, 'app.sock'),
    join(home, '.codex/app.sock'),
    join(project, 'dev.sock'),
    `\0${abstract}`,
  ])
    await keep(
      createSocketServer((socket) => (visits.push(path), socket.end('ESCAPED'))),
      path,
    )
  return (http.address() as AddressInfo).port
}
