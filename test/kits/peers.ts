/** Programs outside of this process that ask a server over TCP, as another user, in a namespace, in a turn. */
import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'

export type Spoken = { status: number; code: string | null; message: string }

const run = promisify(execFile)

type HowAsked = { before?: string[]; env?: Record<string, string>; args?: string[]; cwd?: string }

/** Asks with curl. `before` are programs that start it, such as `setpriv`; `env` is all that it sees. */
export async function readWithCurl(
  url: string,
  { before = [], env = {}, args = [], cwd }: HowAsked = {},
): Promise<string> {
  const [program, ...rest] = [...before, 'curl', '-sS', '-w', '\n%{http_code}', ...args, url]
  const around = { env: { PATH: process.env['PATH'] ?? '', ...env }, ...(cwd === undefined ? {} : { cwd }) }
  return (await run(program ?? 'curl', rest, around)).stdout
}

export async function askWithCurl(url: string, how: HowAsked = {}): Promise<Spoken> {
  const stdout = await readWithCurl(url, how)
  const at = stdout.lastIndexOf('\n')
  const body = stdout.startsWith('{') ? JSON.parse(stdout.slice(0, at)) : {}
  const { code = null, message = '' } = body.error ?? {}
  return { status: Number(stdout.slice(at + 1)), code, message }
}

const works = (program: string, ...args: string[]): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** `setpriv` as another user; null where this user may not. */
export const asAnotherUser =
  process.platform === 'linux' && works('setpriv', '--reuid=65534', '--clear-groups', 'curl', '--version')
    ? ['setpriv', '--reuid=65534', '--clear-groups']
    : null

const separate = ['unshare', '--map-root-user', '--pid', '--fork']

/** Another pid namespace, as a sandbox has it; null where this machine has none. */
export const inAnotherNamespace =
  process.platform === 'linux' && works('unshare', ...separate.slice(1), 'curl', '--version')
    ? separate
    : null

/** Says on the way what is not tried here. */
export function sayUntried(what: string, possible: unknown): boolean {
  if (possible === null || possible === false) console.warn(`not tried on this machine: ${what}`)
  return possible === null || possible === false
}

export type Ask = { method: string; path: string; upgrade?: boolean }

/** Many requests of one program: what each was told, by its name. A code of a refusal, or the status. */
export async function askAllWithCurl(
  url: string,
  asks: readonly Ask[],
  { before, token }: { before: readonly string[]; token: string | null },
): Promise<Record<string, string>> {
  const args = asks.flatMap(({ method, path, upgrade }, index) => [
    ...(index === 0 ? [] : ['--next']),
    '-sS',
    '--max-time',
    '2',
    '-X',
    method,
    '-w',
    '\n%{http_code}\n',
    url + path,
    ...(token === null ? [] : ['-H', `authorization: Bearer ${token}`]),
    ...(upgrade === true
      ? handshake
      : method === 'GET'
        ? []
        : ['-d', '{}', '-H', 'content-type: application/json']),
  ])
  const [program = 'curl', ...rest] = [...before, 'curl', ...args]
  // Streams that are let through are cut off after a while, which curl calls a failure.
  const { stdout } = await run(program, rest, { maxBuffer: 2 ** 26 }).catch(
    (fault: { stdout: string }) => fault,
  )
  const answers = stdout.split(/\n(\d{3})\n/)
  return Object.fromEntries(
    asks.map(({ method, path, upgrade }, index) => {
      const [body = '', status = ''] = answers.slice(index * 2, index * 2 + 2)
      const code = /"code":"(\w+)"/.exec(body)?.[1]
      return [`${upgrade === true ? 'WebSocket' : method} ${path}`, code ?? status]
    }),
  )
}

const handshake = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
].flatMap((one) => ['-H', one])
