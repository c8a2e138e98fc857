/** `npm run bench`: runs the parts one after another, prints their tables and checks the required figures. */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { appends } from './appends.ts'
import { cluster } from './cluster.ts'
import { context } from './context.ts'
import { growth } from './growth.ts'
import { many } from './many.ts'
import { delegations } from './delegations.ts'
import { httpDelegations } from './http-delegations.ts'
import { httpDisconnect } from './http-disconnect.ts'
import { httpListeners } from './http-listeners.ts'
import { httpMessages } from './http-messages.ts'
import { httpStart } from './http-start.ts'
import { mail } from './mail.ts'
import { memory } from './memory.ts'
import { createProgress, type Progress } from './progress.ts'
import { renderCheck, isMet, renderTable, type Part } from './report.ts'
import { probes } from './probes.ts'
import { queues } from './queues.ts'
import { stalls, type Share } from './stalls.ts'
import { startup } from './startup.ts'
import { tokens } from './tokens.ts'

type Run = (progress: Progress, seconds: number, all: boolean, share: Share) => Promise<Part>
const parts: Record<string, Run> = {
  tokens,
  probes,
  delegations,
  appends,
  mail,
  queues,
  many,
  growth,
  context,
  startup,
  memory,
  'http-delegations': httpDelegations,
  'http-messages': httpMessages,
  'http-listeners': httpListeners,
  'http-start': httpStart,
  'http-disconnect': httpDisconnect,
  cluster,
  stalls: (progress, _seconds, _all, share) => stalls(progress, share),
}
const secondsDefault = 1.5

const help = `npm run bench -- [options]

  --only <part>   run only this part; repeat it for several
  --seconds <n>   length of one timed round (default ${secondsDefault}); most parts run five rounds each
  --all           delegations, probes: LangGraph with its SQLite saver too; installed on first use, below
                  node_modules/.cache
  --share <n/m>   stalls: the n-th of m parts of all routes and tools (default 1/1); the tables of all parts
                  make the whole one
  --json          print the results as JSON instead of tables
  --help          print this help

Parts: ${Object.keys(parts).join(', ')}

A full run takes about ten minutes, half of it for the stalls. Use --only http-messages --seconds 60 to
also check that p99 and memory stay flat over time. Progress goes to stderr. The exit status is 1 if a
required figure is not met.`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    seconds: { type: 'string', default: String(secondsDefault) },
    all: { type: 'boolean', default: false },
    share: { type: 'string', default: '1/1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function chooseParts(): [string, Run][] {
  const unknown = values.only?.find((name) => parts[name] === undefined)
  if (unknown !== undefined)
    throw new Error(`--only: there is no part "${unknown}"; there are ${Object.keys(parts).join(', ')}`)
  return Object.entries(parts).filter(([name]) => values.only?.includes(name) ?? true)
}

function parseSeconds(): number {
  const seconds = Number(values.seconds)
  if (!(seconds > 0 && seconds <= 60))
    throw new Error(`--seconds: "${values.seconds}" is not a number above 0 and up to 60`)
  return seconds
}

function parseShare(): Share {
  const [which = 0, of = 0] = (/^(\d{1,2})\/(\d{1,2})$/.exec(values.share) ?? []).slice(1).map(Number)
  if (which < 1 || which > of) throw new Error(`--share: "${values.share}" is not a part such as 1/3`)
  return [which, of]
}

async function main(): Promise<void> {
  const progress = createProgress(process.stderr)
  const done: Part[] = []
  const [seconds, share] = [parseSeconds(), parseShare()]
  for (const [, run] of chooseParts()) {
    const part = await run(progress, seconds, values.all, share)
    done.push(part)
    progress.end()
    if (!values.json) console.log(`${[...part.tables.map(renderTable), ...part.notes].join('\n\n')}\n`)
  }
  const checks = done.flatMap((part) => part.checks)
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    date: new Date().toISOString(),
  }
  if (values.json)
    console.log(
      JSON.stringify(
        {
          machine,
          parts: done.map((part) => ({
            ...part,
            checks: part.checks.map((check) => ({ ...check, met: isMet(check) })),
          })),
        },
        null,
        2,
      ),
    )
  else
    console.log(
      [
        `Required figures (${machine.cores} cores, ${machine.cpu}, Node ${machine.node}, ${machine.date.slice(0, 10)})`,
        ...checks.map(renderCheck),
      ].join('\n'),
    )
  if (!checks.every(isMet)) process.exitCode = 1
}

if (values.help) console.log(help)
else await main()
