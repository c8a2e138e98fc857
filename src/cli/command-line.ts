/** The command line: words in, text and an exit code out. */
import { readArguments } from './arguments.ts'
import { printError, printJson, printText, UsageError } from './command.ts'
import { commands } from './commands.ts'
import { renderHelp } from './help.ts'
import { describeSystemFault } from './reach/system-fault.ts'
import { stderr, stdout } from './show/terminal.ts'
import { describeError, ServerUnreachable } from '../client/tieline-error.ts'
import { version } from '../version.ts'

const interruptCodes = { SIGINT: 130, SIGTERM: 143 } as const

export async function main(args: readonly string[]): Promise<number> {
  const asked = readArguments(args, commands)
  switch (asked.kind) {
    case 'version':
    case 'help':
      printText(stdout, asked.kind === 'version' ? version : renderHelp(commands, asked.command))
      return 0
    case 'mistake': {
      const command = asked.command === null ? '' : `${asked.command.name} `
      printError(stderr, `${asked.text} See "tieline ${command}--help".`)
      return 2
    }
    case 'run': {
      const { command, words, flags } = asked
      const { signal, onInterrupt, exitCode } = catchInterrupts()
      const streams = { in: process.stdin, out: stdout, err: stderr }
      try {
        const code = await command.run({ words, flags, env: process.env, ...streams, signal, onInterrupt })
        return exitCode() ?? code
      } catch (error) {
        if (error instanceof UsageError) {
          printError(stderr, error.message)
          return 2
        }
        // A failure that Ctrl-C caused is not worth explaining.
        if (!signal.aborted || error !== signal.reason) reportError(error, flags['json'] === true)
        return exitCode() ?? 1
      }
    }
  }
}

const tokenHint = ' Set TIELINE_TOKEN to it: the server keeps it in the file "token" of its data directory.'

function reportError(error: unknown, asJson: boolean): void {
  const message = describeSystemFault(error) ?? describeError(error)
  const { code = 'fault', field = null, details = null } = (error ?? {}) as Record<string, unknown>
  if (asJson) printJson(stdout, { error: { code, message, field, details } })
  else printError(stderr, `${message}${findHint(error, code)}`)
}

function findHint(error: unknown, code: unknown): string {
  if (error instanceof ServerUnreachable) return '. "tieline doctor" looks for the cause.'
  return code === 'not_authenticated' ? tokenHint : ''
}

type Interrupts = {
  signal: AbortSignal
  exitCode: () => number | null
  onInterrupt: (handler: () => void) => () => void
}

/** The first Ctrl-C cancels, so that nothing keeps running; the second exits at once. */
function catchInterrupts(): Interrupts {
  const interrupted = new AbortController()
  const handlers: (() => void)[] = []
  let code: number | null = null
  for (const [name, exitCode] of Object.entries(interruptCodes)) {
    process.on(name, () => {
      const handler = handlers.at(-1)
      if (handler !== undefined && code === null && name === 'SIGINT') return handler()
      if (code !== null) process.exit(exitCode)
      code = exitCode
      interrupted.abort()
    })
  }
  return {
    signal: interrupted.signal,
    exitCode: () => code,
    onInterrupt(handler) {
      handlers.push(handler)
      return () => void handlers.splice(handlers.indexOf(handler), 1)
    },
  }
}
