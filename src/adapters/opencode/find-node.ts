/**
 * A Node that can run the server. opencode itself is another kind of program, and the machine's own Node may
 * be too old.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const needed = [24, 15] as const
const askMsMax = 5000

/** Throws with what was found and what to do. */
export async function findNode(
  packageDir: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  // The npm package `node` is such a program, beside this one or below it.
  const packaged = [
    join(packageDir, 'node_modules', 'node', 'bin', name),
    join(packageDir, '..', 'node', 'bin', name),
  ]
  const inPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
  const tooOld: string[] = []
  for (const program of new Set([...packaged, ...inPath])) {
    const version = existsSync(program) ? await readVersion(program) : null
    if (version !== null && isEnough(version)) return program
    if (version !== null) tooOld.push(`${program} is ${version}`)
  }
  const found = tooOld.length === 0 ? 'there is no node in PATH' : tooOld.join(', ')
  throw new Error(
    `Node ${needed.join('.')} or newer is needed to start the server, and ${found}. ` +
      'Install it, or "npm install node@24" beside tieline, or start "tieline serve" yourself.',
  )
}

const readVersion = (program: string): Promise<string | null> =>
  new Promise((resolve) => {
    execFile(program, ['--version'], { timeout: askMsMax }, (error, out) =>
      resolve(error === null ? out.trim() : null),
    )
  })

export function isEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}
