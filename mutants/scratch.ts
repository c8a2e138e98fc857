/** A copy of the working tree in which mistakes are made, so that nobody else meets them. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { mutate, type Mutation } from './mutation.ts'
import { startTestProgram, type TestProgram } from './test-program.ts'

/** What isn't in the repository and never changes is shared. */
const shared = ['node_modules', 'dist', 'web/dist', 'web/node_modules']

export type Scratch = {
  readonly path: string
  /** Runs tests of the copy. */
  readonly program: TestProgram
  /** Makes the mistake, runs `work`, and takes it back. */
  within<T>(mutation: Mutation, work: () => Promise<T>): Promise<T>
  remove(): void
}

export function createScratch(root: string): Scratch {
  const path = mkdtempSync(join(tmpdir(), 'tieline-mutants-'))
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  for (const file of listed.split('\0')) {
    if (file === '' || shared.includes(file) || !existsSync(join(root, file))) continue
    mkdirSync(dirname(join(path, file)), { recursive: true })
    cpSync(join(root, file), join(path, file))
  }
  for (const name of shared)
    if (existsSync(join(root, name)) && !existsSync(join(path, name)))
      symlinkSync(join(root, name), join(path, name))
  const program = startTestProgram(path)
  return {
    path,
    program,
    async within(mutation, work) {
      const file = join(path, mutation.file)
      const original = readFileSync(file, 'utf8')
      const write = (text: string): void => {
        writeFileSync(file, text)
        program.change(mutation.file)
      }
      write(mutate(mutation, original))
      try {
        return await work()
      } finally {
        write(original)
      }
    },
    remove() {
      program.stop()
      rmSync(path, { recursive: true, force: true })
    },
  }
}
