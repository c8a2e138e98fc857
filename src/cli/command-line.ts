/** The command line: words in, text and an exit code out. */
import { askedFor } from './arguments.ts'
import { printJson, UsageError } from './command.ts'
import { commands } from './commands.ts'
import { helpText } from './help.ts'
import { faultWords } from './reach/system-fault.ts'
import { stderr, stdout } from './show/terminal.ts'
import { version } from '../version.ts'

const interruptCodes = { SIGINT: 130, SIGTERM: 143 } as const

export async function main(args: readonly string[]): Promise<number> {
  const asked = askedFor(args, commands)
  switch (asked.kind) {
    case 'version':
      return print(version)
    case 'help':
      return print(helpText(commands, asked.command))
    case 'mistake':
      return complain(
        `${asked.text} See "tieline ${asked.command === null ? '' : `${asked.command.name} `}--help".`,
      )
    case 'run': {
      const interrupted = interrupts()
      try {
        const code = await asked.command.run({
          words: asked.words,
          flags: asked.flags,
          env: process.env,
          in: process.stdin,
          out: stdout,
          err: stderr,
          signal: interrupted.signal,
          onInterrupt: interrupted.take,
        })
        return interrupted.code() ?? code
      } catch (error) {
        if (error instanceof UsageError) return complain(error.message)
        // Ctrl-C made it fail: nobody wants to read why.
        if (interrupted.signal.aborted && error === interrupted.signal.reason) return interrupted.code() ?? 1
        tell(error, asked.flags['json'] === true)
        return interrupted.code() ?? 1
      }
    }
  }
}

type Told = { code?: unknown; field?: unknown; details?: unknown }

function tell(error: unknown, asJson: boolean): void {
  const message = faultWords(error) ?? (error instanceof Error ? error.message : String(error))
  const { code = 'fault', field = null, details = null } = (error ?? {}) as Told
  if (asJson) printJson(stdout, { error: { code, message, field, details } })
  else
    stderr.write(
      `tieline: ${message}${code === 'not_authenticated' ? ' Set TIELINE_TOKEN to it: the server keeps it in the file "token" of its data directory.' : ''}\n`,
    )
}

function print(text: string): number {
  stdout.write(`${text}\n`)
  return 0
}

function complain(text: string): number {
  stderr.write(`tieline: ${text}\n`)
  return 2
}

/**
 * The first Ctrl-C cancels, so that nothing is left running; the second one leaves at once. A command may
 * take it over for a while.
 */
function interrupts(): {
  signal: AbortSignal
  code(): number | null
  take: (handler: () => void) => () => void
} {
  const asked = new AbortController()
  const handlers: (() => void)[] = []
  let code: number | null = null
  for (const [name, exitCode] of Object.entries(interruptCodes)) {
    process.on(name, () => {
      const taken = handlers.at(-1)
      if (taken !== undefined && code === null && name === 'SIGINT') return taken()
      if (code !== null) process.exit(exitCode)
      code = exitCode
      asked.abort()
    })
  }
  return {
    signal: asked.signal,
    code: () => code,
    take(handler) {
      handlers.push(handler)
      return () => void handlers.splice(handlers.indexOf(handler), 1)
    },
  }
}
