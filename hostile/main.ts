/**
 * `npm run hostile`: attacks a server from all doors at once, ends and freezes it in between, and says what
 * held.
 */
import { parseArgs } from 'node:util'
import { readNumber, showProgress } from './long-run.ts'
import { latest, wallNow } from '../bench/lateness.ts'
import { families } from './attacks/all.ts'
import { leftovers } from './leftovers.ts'
import { attack, prepare, type Hostile } from './run.ts'
import { judge, type Line } from './verdict.ts'

const secondsDefault = 300
const secondsShort = 60

const help = `npm run hostile -- [options]

  --seconds <n>   how long the attacks go on (default ${secondsDefault})
  --short         the same as --seconds ${secondsShort}, for CI: stalls and the size of the process are only shown
  --seed <n>      which attacks come when; otherwise drawn, and printed
  --only <name>   only this family; may be given several times. Families: ${families.map(({ name }) => name).join(', ')}
  --keep          leave the data directory, and say where it is
  --json          the result as JSON on stdout
  --help          this text

What was begun has its time to end afterwards, so the whole takes a minute or two longer.
Linux only, because it looks for processes in /proc. Progress is on stderr.
The exit status is 1 if a promise was not kept.`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    short: { type: 'boolean', default: false },
    seed: { type: 'string' },
    only: { type: 'string', multiple: true },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function chosen() {
  const unknown = values.only?.find((name) => !families.some((family) => family.name === name))
  if (unknown !== undefined)
    throw new Error(
      `--only: there is no family "${unknown}"; there are ${families.map(({ name }) => name).join(', ')}`,
    )
  return families.filter(({ name }) => values.only?.includes(name) ?? true).flatMap(({ attacks }) => attacks)
}

function statusOf({ begunAt, victim, ledger, tried, signals, control, plan }: Hostile): string {
  const life = victim.lives.at(-1)
  const window = life?.windows.at(-1)
  const tries = [...tried.values()].reduce(
    (sum, counts) => sum + Object.values(counts).reduce((a, b) => a + b, 0),
    0,
  )
  const beyond =
    window === undefined ? 0 : Math.max(0, window.maxMs - latest(control, window.from, window.to))
  const seconds = begunAt === 0 ? 0 : Math.round((wallNow() - begunAt) / 1000)
  const memory = Math.round((life?.rss.at(-1)?.bytes ?? 0) / 1024 / 1024)
  const ends = [
    `${signals.SIGKILL} killed`,
    `${signals.SIGTERM} ended`,
    `${signals.SIGSTOP} frozen`,
    `${victim.crashes.length} crashed`,
  ]
  return [
    `${seconds}/${plan.seconds} s`,
    `${tries} attacks`,
    `${ledger.size} acts`,
    `${victim.lives.length} lives (${ends.join(', ')})`,
    `${memory} MB`,
    `${beyond.toFixed(0)} ms late`,
  ].join('  ')
}

function countLines({ tried }: Hostile): string[] {
  const rows = [...tried].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const width = Math.max(0, ...rows.map(([kind]) => kind.length))
  const cell = (value: number | string): string => String(value).padStart(8)
  const head = `${'attack'.padEnd(width)}${['served', 'refused', 'cut', 'late', 'fault'].map(cell).join('')}`
  return [
    head,
    ...rows.map(
      ([kind, { served, refused, cut, late, fault }]) =>
        `${kind.padEnd(width)}${[served, refused, cut, late, fault].map(cell).join('')}`,
    ),
  ]
}

/**
 * A minute on a machine that does other things too says little about stalls and about the size of a process:
 * they are shown, and a whole run is judged by them.
 */
const isJudged = ({ timed }: Line): boolean => timed !== true || !values.short

const lineText = (line: Line): string => {
  const { says, kept, more } = line
  const verdict = kept ? 'kept    ' : isJudged(line) ? 'NOT KEPT' : 'too long'
  return [`${verdict}  ${says}`, ...more.map((one) => `            ${one}`)].join('\n')
}

async function main(): Promise<void> {
  const seed = readNumber('seed', values.seed, (process.pid * 7919 + Math.floor(wallNow())) % 1_000_000)
  const seconds = readNumber('seconds', values.seconds, values.short ? secondsShort : secondsDefault)
  const hostile = await prepare({ seconds, seed, attacks: chosen(), keep: values.keep })
  process.stderr.write(`seed ${seed}, ${seconds} s, ${hostile.plan.attacks.length} kinds of attack\n`)
  const hide = showProgress(() => statusOf(hostile))
  try {
    await attack(hostile)
    const lines = await judge(hostile)
    hide()
    if (values.json)
      console.log(
        JSON.stringify(
          {
            seed,
            seconds,
            lines,
            tried: Object.fromEntries(hostile.tried),
            alone: hostile.alone,
            signals: hostile.signals,
            crashes: hostile.victim.crashes,
          },
          null,
          2,
        ),
      )
    else
      console.log(
        [
          ...countLines(hostile),
          '',
          ...lines.map(lineText),
          '',
          `seed ${seed}${values.keep ? `, data in ${hostile.directory}` : ''}`,
        ].join('\n'),
      )
    if (lines.some((line) => !line.kept && isJudged(line))) process.exitCode = 1
  } finally {
    hide()
    await hostile.close()
    // Whatever an attack has left behind must not outlive the run.
    for (const left of leftovers(hostile.run, hostile.directory))
      process.kill(Number(left.split(':')[0]), 'SIGKILL')
  }
}

if (values.help) console.log(help)
else await main()
