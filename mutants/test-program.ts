/** Asks one program to run tests (`tester.ts`), and starts another where it hangs. */
import { fork, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { endMarked, markName, tickMs } from './run-program.ts'
import type { Answer, Question, TriedFile } from './tester.ts'

export type Tried = { files: readonly TriedFile[]; late: boolean }

export type TestProgram = {
  /** Runs the tests, until one fails. */
  run(tests: readonly string[], msMax: number): Promise<Tried>
  /** The text of this file is another now. */
  change(file: string): void
  stop(): void
}

const program = fileURLToPath(new URL('tester.ts', import.meta.url))

export function startTestProgram(cwd: string): TestProgram {
  const mark = randomUUID()
  const changed = new Set<string>()
  let child: ChildProcess | null = null
  const stop = (): void => {
    child?.kill('SIGKILL')
    child = null
    endMarked(mark)
  }
  process.once('exit', stop)
  return {
    change: (file) => void changed.add(file),
    async run(tests, msMax) {
      const asked: Question = { tests, changed: [...changed], mark: `${mark}-${randomUUID()}` }
      changed.clear()
      child ??= await start(cwd, mark)
      const answer = await ask(child, asked, msMax)
      // What the tests have left behind ends with them.
      endMarked(asked.mark)
      if (answer === 'late' || 'fault' in answer) stop()
      if (answer === 'late') return { files: [], late: true }
      if ('fault' in answer)
        return { files: [{ file: 'the tests did not run', errors: [answer.fault], failed: [] }], late: false }
      return { files: answer.files, late: false }
    },
    stop() {
      process.off('exit', stop)
      stop()
    },
  }
}

function start(cwd: string, mark: string): Promise<ChildProcess> {
  const child = fork(program, [], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', CI: '1', [markName]: mark },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  return new Promise((resolve, reject) => {
    child.once('message', () => resolve(child))
    child.once('exit', (code) => reject(new Error(`the program that runs tests ended with ${code}`)))
  })
}

/** Time is counted in ticks: while all of this is stopped, none of it is used up. */
function ask(child: ChildProcess, question: Question, msMax: number): Promise<Answer | 'late'> {
  return new Promise((resolve) => {
    let ticks = 0
    const end = (answer: Answer | 'late'): void => {
      clearInterval(timer)
      child.off('message', end).off('exit', onExit)
      resolve(answer)
    }
    const onExit = (): void => end({ fault: 'the program that runs tests has ended' })
    const timer = setInterval(() => {
      ticks++
      if (ticks * tickMs >= msMax) end('late')
    }, tickMs)
    child.on('message', end).on('exit', onExit)
    child.send(question)
  })
}
