/** `npm run mutants`: makes small mistakes in a copy of the code, and says which of them no test notices. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startProgress } from '../sim/progress.ts'
import { judge, nearAll, runTests, type Verdict } from './judge.ts'
import { findProblem, findRoom, readMutations, type Mutation } from './mutation.ts'
import { instrumentAll } from './model/plugin.ts'
import { modelPasses, renderModelScore, renderModelSurvivors, runModel, shareByFile } from './model/run.ts'
import { readNoticed, recordNoticed, wasNoticed, writeNoticed } from './noticed.ts'
import { createScratch, type Scratch } from './scratch.ts'
import { passes, renderScore, renderSurvivors } from './score.ts'

const help = `npm run mutants -- [options]

  --only <room>      only this room or folder, such as model, runtime/turns or store, or one file of the rules,
                     such as model/call; may be repeated
  --part <k>/<n>     the k-th of n parts
  --within <s>       as many as fit into so many seconds, from another place of the list every day, of those
                     that earlier runs noticed (mutants/noticed.json): each must be noticed again
  --untried          only those made by hand that no earlier run noticed, and that no entry explains
  --name <text>      only those whose sentence contains this text
  --list             what would run, without running it
  --record           writes what was noticed, and by which test, to mutants/noticed.json
  --out <file>       each verdict as a line of JSON, as it comes
  --wide             tries them with all other tests beside their file, to find those that an entry should name
  --resume           with --out: what stands there already of those made by hand is not tried again
  --help             this text

Mutants of src/model are made by a tool and run against the tests next to the rules. All others are entries in
mutants/lists, made by hand. Each is made in a copy of the working tree, and runs against the tests that its
entry names and, if the entry says so, against the simulator.
The exit status is 1 if fewer than 95 % are killed in src/model or 90 % elsewhere, or if a mutation made by
hand survives and its entry doesn't explain why; with --within, if something is no longer noticed.`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    part: { type: 'string' },
    within: { type: 'string' },
    untried: { type: 'boolean', default: false },
    name: { type: 'string' },
    list: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    out: { type: 'string' },
    wide: { type: 'boolean', default: false },
    resume: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const root = fileURLToPath(new URL('..', import.meta.url))
const noticed = readNoticed(root)
const isShort = values.within !== undefined
const isUntried = (mutation: Mutation): boolean =>
  mutation.alive === undefined && !wasNoticed(noticed, mutation)
const mutations = readMutations(root).filter((mutation) =>
  isShort ? wasNoticed(noticed, mutation) : !values.untried || isUntried(mutation),
)
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const isRoom = (room: string, given: string): boolean => room === given || room.startsWith(`${given}/`)

function select(): readonly Mutation[] {
  const rooms = ['model', ...new Set(mutations.map(findRoom))]
  const unknown = values.only?.find(
    (given) => !given.startsWith('model/') && !rooms.some((room) => isRoom(room, given)),
  )
  if (unknown !== undefined)
    throw new Error(`--only: there is no room "${unknown}"; there are ${rooms.sort().join(', ')}`)
  return takePart(
    mutations.filter(
      (mutation) =>
        (values.only?.some((given) => isRoom(findRoom(mutation), given)) ?? true) &&
        mutation.says.includes(values.name ?? ''),
    ),
  )
}

/** Parts are dealt out like cards, so that each has something of every room. */
function takePart<T>(chosen: readonly T[]): readonly T[] {
  if (isShort) return rotate(chosen)
  if (values.part === undefined) return chosen
  const [, part = 0, parts = 0] = /^(\d+)\/(\d+)$/.exec(values.part)?.map(Number) ?? []
  if (part < 1 || part > parts) throw new Error(`--part: "${values.part}" is not like 1/4`)
  return chosen.filter((_, index) => index % parts === part - 1)
}

/** A prime, so that a few weeks of short runs meet every entry. */
const perDay = 41

/** A mutant that ends by its time limit may end otherwise on another machine. */
const shareSlack = 0.01

const record = (verdicts: readonly Verdict[], shares: ReadonlyMap<string, number>): void =>
  writeNoticed(root, recordNoticed(readNoticed(root), verdicts, shares))

function rotate<T>(chosen: readonly T[]): readonly T[] {
  const from = (Math.floor(Date.now() / 86_400_000) * perDay) % Math.max(1, chosen.length)
  say(`from number ${from + 1} of ${chosen.length}`)
  return [...chosen.slice(from), ...chosen.slice(0, from)]
}

/** The files of the rules that this run tries; all where it is null, none where it is empty. */
function selectFiles(): ReadonlySet<string> | null {
  const named = values.only?.filter((given) => given.startsWith('model/')) ?? []
  if (named.length > 0) return new Set(named.map((given) => `src/${given}.ts`))
  if (
    values.untried ||
    values.name !== undefined ||
    (values.only !== undefined && !values.only.includes('model'))
  )
    return new Set()
  if (isShort) return new Set(rotate(Object.keys(noticed.model)).slice(0, 1))
  const files = [...instrumentAll(root).keys()]
  if (values.part === undefined) return null
  return new Set(takePart(files))
}

async function tryModel(files: ReadonlySet<string> | null): Promise<boolean> {
  if (files?.size === 0) return true
  const verdicts = await runModel(root, files)
  if (values.out !== undefined)
    for (const { mutant, killedBy } of verdicts)
      appendFileSync(values.out, `${JSON.stringify({ ...mutant, killedBy })}\n`)
  for (const line of [...renderModelScore(verdicts), ...renderModelSurvivors(verdicts)]) say(line)
  const shares = shareByFile(verdicts)
  if (values.record) record([], shares)
  return isShort
    ? [...shares].every(([file, share]) => share >= (noticed.model[file] ?? 1) - shareSlack)
    : modelPasses(verdicts)
}

/** A test that fails by itself would seem to notice everything. */
async function findFailing(scratch: Scratch, chosen: readonly Mutation[]): Promise<string | null> {
  const tests = [...new Set(chosen.flatMap(({ tests: near }) => near))]
  const failure = tests.length === 0 ? null : await runTests(scratch, tests)
  return failure?.name ?? null
}

type VerdictLine = { file: string; says: string; killedBy: string | null; seconds: number }

const readVerdicts = (file: string | undefined): VerdictLine[] =>
  file === undefined || !existsSync(file)
    ? []
    : readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as VerdictLine)

async function run(scratch: Scratch, chosen: readonly Mutation[]): Promise<Verdict[]> {
  const endsAt = Date.now() + Number(values.within ?? Infinity) * 1000
  const verdicts: Verdict[] = []
  const progress = startProgress(chosen.length, 'mutations')
  const known = readVerdicts(values.resume ? values.out : undefined)
  for (const mutation of chosen) {
    if (Date.now() >= endsAt) break
    const { says, file } = mutation
    const earlier = known.find((line) => line.file === file && line.says === says)
    const tried = values.wide ? { ...mutation, tests: nearAll(root, mutation) } : mutation
    const verdict = earlier === undefined ? await judge(scratch, tried) : { ...earlier, mutation }
    verdicts.push(verdict)
    if (values.out !== undefined && earlier === undefined)
      appendFileSync(
        values.out,
        `${JSON.stringify({ file, says, killedBy: verdict.killedBy, seconds: verdict.seconds })}\n`,
      )
    if (verdict.killedBy === null) say(`survived: ${file}: ${says}`)
    progress.show(verdicts.length, `${verdicts.filter(({ killedBy }) => killedBy !== null).length} killed`)
  }
  progress.end()
  return verdicts
}

async function main(): Promise<boolean> {
  if (values.help) return (say(help), true)
  const chosen = select()
  const problems = chosen.flatMap((mutation) => findProblem(mutation, root) ?? [])
  for (const problem of problems) say(problem)
  if (problems.length > 0) return false
  if (values.list) {
    for (const { file, says } of chosen) say(`${file}: ${says}`)
    return true
  }
  const isModelGood = await tryModel(selectFiles())
  return (await tryByHand(chosen)) && isModelGood
}

async function tryByHand(chosen: readonly Mutation[]): Promise<boolean> {
  if (chosen.length === 0) return true
  const scratch = createScratch(root)
  const stop = (): void => {
    scratch.remove()
    process.exit(1)
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    const verdicts = await run(scratch, chosen)
    const failing = await findFailing(
      scratch,
      verdicts.map(({ mutation }) => mutation),
    )
    if (failing !== null) say(`a test fails without any mutation, so nothing is proved: ${failing}`)
    for (const line of [...renderScore(verdicts), ...renderSurvivors(verdicts)]) say(line)
    if (values.record && failing === null) record(verdicts, new Map())
    const isGood = isShort ? verdicts.every(({ killedBy }) => killedBy !== null) : passes(verdicts)
    return failing === null && isGood
  } finally {
    scratch.remove()
  }
}

process.exitCode = (await main()) ? 0 : 1
