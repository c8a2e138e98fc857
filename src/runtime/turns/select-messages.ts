/**
 * Which messages of a caller's conversation pass to a child: what the filters leave, newest first, as far as
 * they fit. The input of the caller's running turn is the newest of them; nothing else of that turn is one.
 */
import type { ContextFilter, Entry, Manifest } from '../../model/context.ts'
import { boundaryFor, leftOutNote, type Boundary } from '../../model/frame.ts'
import type { Opening } from '../../model/event.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import { countGently } from '../../model/text.ts'
import type { Runtime } from './runtime.ts'
import type { Running } from '../kernel/running.ts'
import type { EntryPage } from '../kernel/store-port.ts'
import { entryText } from './loop.ts'
import { addSteps } from './step-text.ts'

type Messages = NonNullable<Manifest['messages']>
export type Chosen = { manifest: Messages; tokens: number }

export async function selectMessages(
  runtime: Runtime,
  caller: Running,
  filter: ContextFilter,
  tokensMax: number,
  boundary: Boundary,
): Promise<Chosen> {
  const session = caller.row.session
  const room = Math.max(0, tokensMax)
  const present = await findPresent(runtime, caller, filter, room, boundary)
  const left = present === null ? room : room - present.tokens
  const last = filter.last_messages
  const older: ContextFilter =
    present === null || last === undefined ? filter : { ...filter, last_messages: Math.max(0, last - 1) }
  const page = await readPage(runtime, session, older, left)
  // What 0.1.0 recorded knew nothing of the present message, and counted no note.
  const now = page.older === true ? null : present
  const fitted = await fit(runtime, session, page, {
    tokensMax: page.older === true ? room : left,
    roles: filter.roles ?? null,
    boundary,
  })
  return {
    tokens: fitted.tokens + (now?.tokens ?? 0),
    manifest: {
      session,
      total: fitted.total,
      passed: fitted.entries.map((entry) => entry.n),
      roles: filter.roles ?? null,
      dropped: fitted.dropped,
      ...(page.older === true ? {} : { present: now === null ? null : caller.row.id }),
    },
  }
}

/** The message being worked on, if the filters let it pass and it fits; a client's own request is none. */
async function findPresent(
  runtime: Runtime,
  { row, session, input }: Running,
  { roles, keywords, last_messages: last, max_age_seconds: seconds }: ContextFilter,
  room: number,
  boundary: Boundary,
): Promise<{ tokens: number } | null> {
  if (session.kind === 'external' || last === 0 || roles?.includes('user') === false) return null
  if (seconds !== undefined && row.openedAt < runtime.clock.now() - seconds * 1000) return null
  const entry = presentEntry(row.id, row.openedAt, input)
  if (keywords !== undefined && !hasKeyword(entry.text, keywords)) return null
  const tokens = await countGently(runtime.count, entryText(entry, ownBoundary(entry, boundary)))
  return tokens > room ? null : { tokens }
}

const ownBoundary = (entry: Entry, boundary: Boundary): Boundary =>
  boundary === null ? null : boundaryFor(entry.turn, entry.at)

/** R11: keywords are few and a text is bounded, so each is looked for on its own. */
function hasKeyword(text: string, keywords: readonly string[]): boolean {
  const lower = text.toLowerCase()
  return keywords.some((keyword) => lower.includes(keyword.toLowerCase()))
}

function presentEntry(turn: TurnId, at: number, input: Opening): Entry {
  const [text, from] =
    input.type === 'call.opened'
      ? [input.task, input.grant.path.at(-2)?.agent ?? null]
      : [input.text, input.source === 'agent' ? input.from : null]
  return { n: 0, role: 'user', at, text, tokens: 0, from, turn, hasSteps: false, steps: null }
}

/** The present message of a caller as its callee reads it. */
export async function readPresent(runtime: Runtime, turn: TurnId): Promise<Entry | null> {
  const row = await runtime.store.turn(turn)
  const opened = row === null ? null : await runtime.store.event(row.openedSeq)
  if (row === null || opened === null || !('grant' in opened.event)) return null
  const entry = presentEntry(turn, row.openedAt, opened.event)
  return { ...entry, tokens: await countGently(runtime.count, entry.text) }
}

/** R11: so many entries are searched for keywords in what their tools did. */
const searchedMax = 500

/**
 * With the role `tool`, keywords are about what is passed: the steps, and the text only where its role passes
 * too. The store searches texts, so those are read here.
 */
async function readPage(
  runtime: Runtime,
  session: SessionId,
  filter: ContextFilter,
  tokensMax: number,
): Promise<EntryPage> {
  const now = runtime.clock.now()
  const { keywords, roles } = filter
  if (keywords === undefined || roles?.includes('tool') !== true)
    return runtime.store.entries(session, { filter, now, tokensMax })
  const { keywords: _keywords, last_messages: last, ...rest } = filter
  const all = await runtime.store.entries(session, {
    filter: { ...rest, last_messages: searchedMax },
    now,
    tokensMax: Number.MAX_SAFE_INTEGER,
  })
  if (all.older === true) return all
  const found: Entry[] = []
  for (const entry of all.entries.toReversed()) {
    if (found.length >= (last ?? Infinity)) break
    const full = await addSteps(runtime, session, entry)
    const passed = [full.steps ?? '', ...(roles.includes(entry.role) ? [entry.text] : [])].join('\n')
    if (hasKeyword(passed, keywords)) found.unshift(entry)
  }
  const without = all.entries.length - found.length
  return { ...all, entries: found, dropped: { ...all.dropped, keywords: without } }
}

type Fit = { tokensMax: number; roles: ContextFilter['roles'] | null; boundary: Boundary }

/**
 * Steps and the frames of peers are counted for what was selected, newest first; the first entry that does
 * not fit with them ends the selection. So does the note that a model reads where older messages are missing.
 */
async function fit(
  runtime: Runtime,
  session: SessionId,
  page: EntryPage,
  { tokensMax, roles, boundary }: Fit,
): Promise<EntryPage & { tokens: number }> {
  const withSteps = roles?.includes('tool') === true
  const note = page.older === true ? 0 : runtime.count(leftOutNote)
  const entries: Entry[] = []
  let [tokens, kept] = [0, 0]
  for (const entry of page.entries.toReversed()) {
    const full = withSteps ? await addSteps(runtime, session, entry) : entry
    const more =
      full.steps === null && full.from === null
        ? entry.tokens
        : await countGently(runtime.count, entryText(full, ownBoundary(entry, boundary)))
    if (tokens + more > tokensMax) break
    tokens += more
    entries.unshift(full)
    if (!needsNote(full) || tokens + note <= tokensMax) kept = entries.length
  }
  // An answer at the beginning is preceded by a note; where that does not fit, the answer does not either.
  for (const dropped of entries.splice(0, entries.length - kept))
    tokens -=
      dropped.steps === null && dropped.from === null
        ? dropped.tokens
        : await countGently(runtime.count, entryText(dropped, ownBoundary(dropped, boundary)))
  const [first] = entries
  const cut = page.entries.length - entries.length
  return {
    ...page,
    entries,
    tokens: tokens + (first !== undefined && needsNote(first) ? note : 0),
    dropped: { ...page.dropped, budget: (page.dropped['budget'] ?? 0) + cut },
  }
}

const needsNote = ({ role, from }: Entry): boolean => role === 'assistant' && from === null
