/**
 * How sessions of clients are named. All of it is what a client says about itself, so it gives no right.
 *
 * A1: a client's session has the client's own id of it. Without one it is named by client and directory, or,
 * where not even the directory is known, by its connection. Where the server runs is no part of any name.
 * A2: `<client>@<directory>` is the address of whoever works there. Its inbox is a session of its own, and
 * it is the same one that a client without ids of its own acts as.
 * A3: a whole path means that directory and no other. Where nobody has worked there yet, mail opens the inbox,
 * if it is clear which client is meant. A part of a path fits only what is registered.
 * A4: a client is believed to work in a directory only at or below the one in which its process does, where that
 * is known: what a repository writes into a client's settings does not speak for another directory.
 */
import { hash } from 'node:crypto'
import { basename } from 'node:path'
import type { SessionId } from './id.ts'
import type { Refusal } from './refusal.ts'

/** A program that asks for the user. */
export type ClientProgram = {
  /** What it calls itself. */
  name: string
  /** Its own id of the session that asks. */
  session?: string | null | undefined
  /** The directory that it works in; by its real path it is part of names. */
  cwd?: string | null | undefined
  /** Where its process works, as the machine shows it; null where that is not known. */
  seenIn?: string | null | undefined
  /** One of several connections at the same time. */
  connection?: string | null | undefined
}

const nameUnitsMax = 40
const conversationUnitsMax = 50
const prefix = 'ses_client-'

/** A4. Both are real paths. */
export const isBelieved = (cwd: string, seenIn: string | null): boolean =>
  seenIn === null || cwd === seenIn || cwd.startsWith(seenIn.endsWith('/') ? seenIn : `${seenIn}/`)

/** Names end up in ids, titles and logs. */
export const plainName = (text: string): string => plain(text).slice(0, nameUnitsMax)

const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
const digest = (text: string): string => hash('sha256', text).slice(0, 12)
const nameProgram = ({ name }: Pick<ClientProgram, 'name'>): string => plainName(name) || 'client'

/** Two that differ only at their end stay two. */
function short(conversation: string): string {
  const text = plain(conversation)
  return text.length <= conversationUnitsMax
    ? text
    : `${text.slice(0, conversationUnitsMax - 13)}-${digest(conversation)}`
}

/** A1 */
export function nameClientSession(program: ClientProgram): SessionId {
  const own = short(program.session ?? '')
  if (own !== '') return `${prefix}${nameProgram(program)}_${own}`
  if (program.cwd != null) return nameInbox(program, program.cwd)
  const connection = short(program.connection ?? '')
  return connection === '' ? nameBare(program) : `${prefix}${nameProgram(program)}_${connection}`
}

/** A2: where mail for `<client>@<directory>` waits. */
export const nameInbox = (program: Pick<ClientProgram, 'name'>, cwd: string): SessionId =>
  `${prefix}${nameProgram(program)}${tailOf(cwd)}`

/** Of a client that says nothing but its name; 0.1.0 also used it for the directory that it ran in. */
export const nameBare = (program: Pick<ClientProgram, 'name'>): SessionId =>
  `${prefix}${nameProgram(program)}`

const tailOf = (cwd: string): string => `_${plainName(basename(cwd))}-${digest(cwd)}`

/** What people call the program behind a client's session. */
export function nameClientProgram({ id, title }: { id: SessionId; title: string }): string {
  if (id.startsWith(prefix)) return id.slice(prefix.length).split('_', 1)[0] || 'a program'
  return title === '' ? 'a program' : title
}

export type Address = { client: string; dir: string }

export const renderAddress = ({ client, dir }: Address): string => `${client}@${dir}`

/** The address whose inbox a session is, or null. */
export function readAddress({ id, cwd }: { id: SessionId; cwd: string }): Address | null {
  const tail = tailOf(cwd)
  return id.startsWith(prefix) && id.endsWith(tail) && id.length > prefix.length + tail.length
    ? { client: id.slice(prefix.length, -tail.length), dir: cwd }
    : null
}

/** `claude@api`: either side may be a part. Null for what is no address. */
export function splitAddress(given: string): Address | null {
  const at = given.indexOf('@')
  return at <= 0 || at === given.length - 1 ? null : { client: given.slice(0, at), dir: given.slice(at + 1) }
}

/** The programs that we know, as they name themselves. */
const knownPrograms = ['claude-code', 'codex-mcp-client', 'copilot-cli', 'gemini-cli-mcp-client', 'opencode']

const listAddresses = <Row extends { id: SessionId; cwd: string }>(registered: readonly Row[]) =>
  registered.flatMap((row) => {
    const address = readAddress(row)
    return address === null ? [] : [{ row, address }]
  })

/** A3: the address at a whole path that mail may open, or null where it is not clear which client is meant. */
export function openAddress(
  wanted: Address,
  registered: readonly { id: SessionId; cwd: string }[],
): Address | null {
  const seen = listAddresses(registered).map(({ address }) => address.client)
  const programs = [...new Set([...knownPrograms, ...seen])]
  if (programs.includes(wanted.client)) return wanted
  const [only, ...others] = programs.filter((name) => name.includes(wanted.client))
  return only === undefined || others.length > 0 ? null : { ...wanted, client: only }
}

/**
 * The one that is meant: the exact one, or the only one that both parts fit. `whole`: the directory is a whole
 * path of one that is there (A3).
 */
export function pickAddress<Row extends { id: SessionId; cwd: string }>(
  given: string,
  wanted: Address,
  registered: readonly Row[],
  whole: boolean,
): Row | Refusal {
  const known = listAddresses(registered)
  const exact = known.find(({ address }) => address.client === wanted.client && address.dir === wanted.dir)
  if (exact !== undefined) return exact.row
  const fitting = known.filter(
    ({ address }) =>
      address.client.includes(wanted.client) &&
      (whole ? address.dir === wanted.dir : address.dir.includes(wanted.dir)),
  )
  const [only] = fitting
  if (only !== undefined && fitting.length === 1) return only.row
  const candidates = (fitting.length === 0 ? known : fitting).map(({ address }) => renderAddress(address))
  return fitting.length === 0
    ? { code: 'session_unknown', session: given, candidates: candidates.slice(0, candidatesMax) }
    : { code: 'session_ambiguous', session: given, candidates: candidates.slice(0, candidatesMax) }
}

const candidatesMax = 10
