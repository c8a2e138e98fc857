/**
 * Finds the process at the other end of a connection on this machine, from what Linux shows in /proc. It reads
 * synchronously, so it runs in a thread of its own.
 *
 * 1. The kernel knows the user and the inode of the peer's socket.
 * 2. One process of that user has a descriptor for this inode: the holder.
 * 3. The holder is in our pid namespace, or not; and it was started in a turn, or not.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { endianness } from 'node:os'
import { turnVariable } from '../model/turn-variable.ts'

/** The two ends as the peer sees them: its own first. */
export type PeerEnds = { address: string; port: number; serverAddress: string; serverPort: number }

/** The user that opened a socket, and its inode; 0 where no process has it any more. */
export type PeerSocket = { uid: number; inode: number }

export type FoundPeer =
  | {
      kind: 'found'
      /** Tokens of turns in its environment and above it, not checked. */
      tokens: string[]
      /** The directory that its process works in; null where it cannot be told, and for this process itself. */
      cwd: string | null
    }
  | { kind: 'otherUser' }
  | { kind: 'otherNamespace' }
  | { kind: 'unknown' }

const unknown: FoundPeer = { kind: 'unknown' }
const ancestorsMax = 64
const environBytesMax = 256 * 1024
/** Processes that held a peer before are looked at first: a browser or a client connects again and again. */
const recentMax = 16
let recent: number[] = []

/** `sockets` has what is known of the peers' sockets already; null where it must be read from the tables. */
export type PeerSearch = { asked: readonly PeerEnds[]; sockets: readonly (PeerSocket | null)[] | null }

export function searchPeers({ asked, sockets }: PeerSearch): FoundPeer[] {
  const rows = sockets ?? readRows(asked)
  const own = process.getuid?.()
  const inodes = rows.flatMap((row) => (row !== null && row.uid === own && row.inode > 0 ? [row.inode] : []))
  const holders = findHolders(new Set(inodes), own ?? -1)
  return rows.map((row) => {
    if (row === null) return unknown
    if (row.uid !== own) return { kind: 'otherUser' }
    const pid = holders.get(row.inode)
    return pid === undefined ? unknown : orUnknown(() => judgeHolder(pid), unknown)
  })
}

function readRows(asked: readonly PeerEnds[]): (PeerSocket | null)[] {
  const tables = [readTable('/proc/net/tcp'), readTable('/proc/net/tcp6')]
  return asked.map((ends) => findRow(tables, ends))
}

const readTable = (file: string): string => orUnknown(() => readFileSync(file, 'latin1'), '')

/** A peer may have connected to an address of IPv4 through a socket of IPv6. */
export function findRow(tables: readonly string[], ends: PeerEnds): PeerSocket | null {
  for (const write of [writeAddress, writeMapped]) {
    const peer = `${write(ends.address)}:${writePort(ends.port)}`
    const key = ` ${peer} ${write(ends.serverAddress)}:${writePort(ends.serverPort)} `
    for (const table of tables) {
      const at = table.indexOf(key)
      if (at === -1) continue
      const line = table.slice(at, table.indexOf('\n', at))
      const [, , , , , , uid, , inode] = line.trim().split(/ +/)
      return { uid: Number(uid), inode: Number(inode) }
    }
  }
  return null
}

const writePort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')

/** As the kernel prints it: words of four bytes, each in the order of this machine. */
export function writeAddress(address: string): string {
  const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
  return plain.includes(':') ? writeWords(expand(plain)) : writeWords(plain.split('.').map(Number))
}

const writeMapped = (address: string): string => `0000000000000000FFFF0000${writeAddress(address)}`.slice(-32)

const writeWords = (bytes: readonly number[]): string =>
  Array.from({ length: bytes.length / 4 }, (_, word) => bytes.slice(word * 4, word * 4 + 4))
    .flatMap((word) => (endianness() === 'LE' ? word.toReversed() : word))
    .map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'))
    .join('')

/** The sixteen bytes of an address of IPv6. */
function expand(address: string): number[] {
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const between = Array.from({ length: tail === undefined ? 0 : 8 - before.length - after.length }, () => 0)
  return [...before, ...between, ...after].flatMap((group) => [group >> 8, group & 0xff])
}

/** The newest processes first: most peers have just been started. Our own, with its many sockets, last. */
function findHolders(inodes: ReadonlySet<number>, uid: number): Map<number, number> {
  const found = new Map<number, number>()
  if (inodes.size === 0) return found
  const names = new Map([...inodes].map((inode) => [`socket:[${inode}]`, inode]))
  const others = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && !recent.includes(pid))
    .toSorted((a, b) => b - a)
  recent = recent.filter((pid) => existsSync(`/proc/${pid}`))
  for (const pid of [...recent, ...others, process.pid]) {
    if (statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid !== uid) continue
    const held = orUnknown(() => findHeld(pid, names), [])
    for (const inode of held) found.set(inode, pid)
    if (held.length > 0 && pid !== process.pid)
      recent = [pid, ...recent.filter((one) => one !== pid)].slice(0, recentMax)
    if (names.size === 0) break
  }
  return found
}

/** The newest descriptors first. What is found is not looked for any more. */
function findHeld(pid: number, names: Map<string, number>): number[] {
  const found: number[] = []
  const descriptors = readdirSync(`/proc/${pid}/fd`)
    .map(Number)
    .toSorted((a, b) => b - a)
  for (const descriptor of descriptors) {
    const target = orUnknown(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`), '')
    const inode = names.get(target)
    if (inode === undefined) continue
    found.push(inode)
    names.delete(target)
    if (names.size === 0) break
  }
  return found
}

function judgeHolder(pid: number): FoundPeer {
  if (readlinkSync(`/proc/${pid}/ns/pid`) !== readlinkSync('/proc/self/ns/pid'))
    return { kind: 'otherNamespace' }
  const tokens: string[] = []
  // What started this server is nothing that it started itself.
  for (let at = pid, seen = 0; at > 1 && at !== process.pid && seen < ancestorsMax; seen += 1) {
    const token = findToken(at)
    if (token !== null) tokens.push(token)
    at = orUnknown(() => readParent(at), 0)
  }
  const cwd = pid === process.pid ? null : orUnknown(() => readlinkSync(`/proc/${pid}/cwd`), null)
  return { kind: 'found', tokens, cwd }
}

/** An environment that cannot be read has no token that could be checked. */
function findToken(pid: number): string | null {
  const text = orUnknown(() => readFileSync(`/proc/${pid}/environ`, 'latin1'), '').slice(0, environBytesMax)
  const start = `\0${text}`.indexOf(`\0${turnVariable}=`)
  return start === -1 ? null : (text.slice(start + turnVariable.length + 1).split('\0', 1)[0] ?? null)
}

/** The name of a program stands in brackets and may hold anything, brackets too. */
function readParent(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
}

/** Processes come and go while they are looked at. */
function orUnknown<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
