/** Mail as plain files: a folder per session, a JSON file per message, complete or not there. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readKept } from '../trust/kept-file.ts'
import { privateMode, restrict } from '../trust/private-files.ts'
import {
  countMessage,
  digestText,
  emptyPlace,
  addDigest,
  parseState,
  type MailStorage,
  type PlaceChange,
} from './mail-storage.ts'

const stateFile = '.view.json'
const ending = '.json'
const fileBytesMax = 64 * 1024 * 1024

/** Only the owner may read what agents wrote to each other. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: privateMode })
  restrict(`${file}.new`)
  await rename(`${file}.new`, file)
}

export async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(String(await readKept(file, fileBytesMax)))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SyntaxError || code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}

export function mailFiles(directory: string): MailStorage {
  return {
    tools: false,
    async check(session, log) {
      const folder = join(directory, session)
      const state = parseState(await readJson(join(folder, stateFile)), log)
      if (state === null) return null
      let [count, sum] = [0, 0]
      for (const name of await readdir(folder)) {
        if (name === stateFile || name.endsWith('.new')) continue
        // Null for a folder and everything else that is not a file.
        const text = await readKept(join(folder, name), fileBytesMax).then(String, () => null)
        if (text === null || !name.endsWith(ending)) return null
        count += 1
        sum = addDigest(sum, digestText(name.slice(0, -ending.length), text))
      }
      return count === state.count && sum === state.sum ? state.seq : null
    },
    apply: (session, log, change) => apply(join(directory, session), log, change),
    close: async () => undefined,
  }
}

/** The state comes last: after a crash it does not match the files, and the folder is rebuilt. */
async function apply(folder: string, log: string, { seq, fresh, messages }: PlaceChange): Promise<void> {
  if (fresh) await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const state = stateOrEmpty(await readJson(join(folder, stateFile)), log)
  for (const { id, text } of messages) {
    const file = join(folder, `${id}${ending}`)
    const before = await readKept(file, fileBytesMax).then(String, () => null)
    if (before === text) continue
    await writeWhole(file, text)
    countMessage(state, id, before, text)
  }
  await writeWhole(join(folder, stateFile), `${JSON.stringify({ ...state, seq })}\n`)
}

const stateOrEmpty = (value: unknown, log: string) => ({
  ...emptyPlace(log),
  ...(typeof value === 'object' ? value : {}),
})
