/** The command line: words in, text and an exit code out. */
import { askedFor } from './arguments.ts'
import { UsageError } from './command.ts'
import { commands } from './commands.ts'
import { helpText } from './help.ts'
import { version } from '../version.ts'

const interruptCodes = { SIGINT: 130, SIGTERM: 143 } as const

async function main(args: readonly string[]): Promise<number> {
  const asked = askedFor(args, commands)
  switch (asked.kind) {
    case 'version': return print(version)
    case 'help': return print(helpText(commands, asked.command))
    case 'mistake': return complain(`${asked.text} See "tieline ${asked.command === null ? '' : `${asked.command.name} `}--help".`)
    case 'run': {
      const interrupted = interrupts()
      try {
        const code = await asked.command.run({ words: asked.words, flags: asked.flags, env: process.env, out: process.stdout, err: process.stderr, signal: interrupted.signal })
        return interrupted.code() ?? code
      } catch (error) {
        if (error instanceof UsageError) return complain(error.message)
        console.error(`tieline: ${error instanceof Error ? error.message : String(error)}`)
        return interrupted.code() ?? 1
      }
    }
  }
}

function print(text: string): number {
  console.log(text)
  return 0
}

function complain(text: string): number {
  console.error(`tieline: ${text}`)
  return 2
}

/** The first Ctrl-C cancels, so that nothing is left running; the second one leaves at once. */
function interrupts(): { signal: AbortSignal; code(): number | null } {
  const asked = new AbortController()
  let code: number | null = null
  for (const [name, exitCode] of Object.entries(interruptCodes)) {
    process.on(name, () => {
      if (code !== null) process.exit(exitCode)
      code = exitCode
      asked.abort()
    })
  }
  return { signal: asked.signal, code: () => code }
}

// Whoever reads our output may stop reading (`| head`): there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await main(process.argv.slice(2))
