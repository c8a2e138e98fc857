/** `tieline down`: everything as it was before `tieline up`. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { printJson, type Command } from '../command.ts'
import { writeWhole } from '../setup/init-plan.ts'
import { removeAdapter } from '../setup/up-adapters.ts'
import { presetNames } from '../setup/up-plan.ts'
import {
  keepRecord,
  readRecord,
  removeEmpty,
  takeBack,
  withoutAdapter,
  withoutWritten,
  type UpRecord,
} from '../setup/written.ts'
import { here, readOnly } from './up.ts'

export const down: Command = {
  name: 'down',
  words: [],
  help: 'Takes back exactly what "tieline up" has written',
  flags: {
    only: { value: 'NAMES', help: `what it wrote for some of ${presetNames.join(', ')}, with commas` },
  },
  more: `
A file that nobody has changed since is as it was before, to the byte. A file with edits of yours keeps them. What
was changed inside our own entry is left alone, and named.`,
  examples: ['tieline down', 'tieline down --only claude'],
  async run(input) {
    const at = here(input)
    const only = readOnly(input)
    const isMeant = ({ of }: { of: string }): boolean => only === null || only.includes(of)
    let record = readRecord(at)
    const keep = (changed: UpRecord): void => keepRecord(at, (record = changed))
    const lines: string[] = []
    for (let n = record.adapters.length - 1; n >= 0; n -= 1) {
      const one = record.adapters[n]
      if (one === undefined || !isMeant(one)) continue
      const problem = await removeAdapter(one, at)
      lines.push(problem ?? `${one.package}: removed.`)
      if (problem !== null) continue
      keep(withoutAdapter(record, one))
      removeEmpty(one.folders)
    }
    for (let n = record.written.length - 1; n >= 0; n -= 1) {
      const one = record.written[n]
      if (one === undefined || !isMeant(one)) continue
      const now = existsSync(one.file) ? readFileSync(one.file, 'utf8') : null
      const back = now === null ? null : takeBack(one, now)
      if (back === undefined) {
        lines.push(`${one.file}: our entry was changed and is left as it is; remove it yourself.`)
        continue
      }
      if (back === null) rmSync(one.file, { force: true })
      else if (back !== now) await writeWhole(one.file, back)
      const isOther = record.written.some((other) => other !== one && other.file === one.file)
      if (!isOther) lines.push(`${one.file}: ${describeBack(now === one.after)}.`)
      else if (only !== null) lines.push(`${one.file}: without ${one.of}.`)
      keep(withoutWritten(record, one))
      removeEmpty(one.folders)
    }
    const left = [
      ...record.written.filter(isMeant).map(({ file }) => file),
      ...record.adapters.filter(isMeant).map(({ directory }) => directory),
    ]
    if (input.flags['json'] === true) printJson(input.out, { left })
    else
      input.out.write(`${lines.length === 0 ? 'Nothing was written by "tieline up".' : lines.join('\n')}\n`)
    return left.length === 0 ? 0 : 1
  },
}

const describeBack = (isUnchanged: boolean): string => `as it was${isUnchanged ? '' : ', with your changes'}`
