/** `tieline up` and `tieline down`: the agents of this machine, connected with each other; and everything as before. */
import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { flagText, printJson, UsageError, type Command, type CommandInput } from '../command.ts'
import { refuseValue } from '../flags.ts'
import { askLine } from '../chat/prompt.ts'
import { isYes } from '../chat/question.ts'
import { chooseProcess, type OwnFiles, type Surroundings } from '../setup/init-entries.ts'
import { renderChanges, writeWhole } from '../setup/init-plan.ts'
import { describeFound, findAgents, planUp, presetNames } from '../setup/up-plan.ts'
import {
  forgetWritten,
  keepWritten,
  listMissing,
  recordFile,
  readWritten,
  removeEmpty,
  takeBack,
} from '../setup/written.ts'

const here = ({ env }: CommandInput): Surroundings => ({ cwd: process.cwd(), home: homedir(), env })

const ownFiles = (): OwnFiles => {
  const script = process.argv[1] ?? ''
  return { node: process.execPath, script: existsSync(script) ? realpathSync(script) : script }
}

export const up: Command = {
  name: 'up',
  words: [],
  help: 'Connects the agents on this machine: they can call each other, in every project',
  flags: {
    only: {
      value: 'NAMES',
      help: `some of ${presetNames.join(', ')}, with commas; by default all that are found`,
    },
    'dry-run': { help: 'show what would be written, and write nothing' },
    yes: { help: 'do not ask' },
  },
  more: `
It looks for the programs on your PATH, shows everything that it would write, and asks once. Their files keep
everything else. "tieline down" takes it all back.`,
  examples: ['tieline up', 'tieline up --dry-run', 'tieline up --only claude,codex --yes'],
  async run(input) {
    const at = here(input)
    const found = await findAgents(at, readOnly(input))
    if (found.length === 0)
      throw new UsageError(
        `none of ${presetNames.join(', ')} was found on your PATH. Install one of them first.`,
      )
    const planned = await planUp(found, at, chooseProcess(at, ownFiles()))
    const toWrite = planned.filter(({ state }) => state === 'write')
    const isJson = input.flags['json'] === true
    if (!isJson)
      for (const { what, file, why, state, before, after } of planned) {
        input.out.write(`${what}: ${file} (${why})\n`)
        if (state === 'write') for (const line of renderChanges(before, after)) input.out.write(`  ${line}\n`)
      }
    const isDry = input.flags['dry-run'] === true
    const may = !isDry && toWrite.length > 0 && (input.flags['yes'] === true || (await askUser(input)))
    if (may) {
      const record = readWritten(at)
      for (const { file, before, after } of toWrite) {
        const folders = [...(record.length === 0 ? listMissing(recordFile(at)) : []), ...listMissing(file)]
        record.push({ file, before, after, folders })
        keepWritten(at, record)
        await writeWhole(file, after)
      }
    }
    const { findPlace } = await import('../reach/place.ts')
    const { dataDir } = await findPlace(input, { userOnly: true })
    const lines = found.map((one) => describeFound(one, at, dataDir))
    if (isJson)
      printJson(input.out, {
        agents: found.map(({ preset, version, loggedIn }, n) => ({
          name: preset.name,
          version,
          loggedIn,
          says: lines[n],
        })),
        files: planned.map(({ what, file, state, why }) => ({
          what,
          file,
          state,
          why,
          written: may && state === 'write',
        })),
      })
    else {
      const outcome = may
        ? 'Written. Restart the programs to see the tools.'
        : toWrite.length === 0
          ? 'Nothing to change.'
          : 'Nothing was written.'
      input.out.write(`${[outcome, ...lines].join('\n')}\n`)
    }
    return may || isDry || toWrite.length === 0 ? 0 : 1
  },
}

export const down: Command = {
  name: 'down',
  words: [],
  help: 'Takes back exactly what "tieline up" has written',
  flags: {},
  more: `
A file that nobody has changed since is as it was before, to the byte. A file with edits of yours keeps them. What
was changed inside our own entry is left alone, and named.`,
  examples: ['tieline down'],
  async run(input) {
    const at = here(input)
    let kept = readWritten(at)
    const lines: string[] = []
    for (const one of kept.toReversed()) {
      const now = existsSync(one.file) ? readFileSync(one.file, 'utf8') : null
      const back = now === null ? null : takeBack(one, now)
      if (back === undefined) {
        lines.push(`${one.file}: our entry was changed and is left as it is; remove it yourself.`)
        continue
      }
      if (back === null) rmSync(one.file, { force: true })
      else await writeWhole(one.file, back)
      lines.push(`${one.file}: as it was${now === one.after ? '' : ', with your changes'}.`)
      kept = kept.filter((other) => other !== one)
      forgetWritten(at, kept)
      removeEmpty(one.folders)
    }
    if (input.flags['json'] === true) printJson(input.out, { left: kept.map(({ file }) => file) })
    else
      input.out.write(`${lines.length === 0 ? 'Nothing was written by "tieline up".' : lines.join('\n')}\n`)
    return kept.length === 0 ? 0 : 1
  },
}

function readOnly({ flags }: CommandInput): string[] | null {
  const given = flagText(flags['only'])
  if (given === undefined) return null
  return given.split(',').map((name) => {
    const wanted = name.trim()
    if (!presetNames.some((known) => known === wanted))
      throw refuseValue('only', wanted, `one of ${presetNames.join(', ')}`)
    return wanted
  })
}

async function askUser({ in: from, out, signal }: CommandInput): Promise<boolean> {
  if (from?.isTTY !== true || out.isTTY !== true) return false
  const line = await askLine(from, out, 'Write this? [y/N] ', signal)
  return line !== null && line !== 'interrupted' && isYes(line.text)
}
