/**
 * R7 in money: what a call reserves, with all that is spent and held already, is within its caller's budget, and
 * all requests of a flow together cost no more than it may. What a driver lied about (`reported`) is not counted
 * there: nobody could foresee it.
 */
import type { Event, EventOf } from '../src/model/event.ts'
import type { Broken, Ledger, LedgerTurn } from './ledger.ts'

type Book = {
  /** Of each turn: its own, and what messages took with them. */
  spent: Map<string, number>
  mailed: Map<string, number>
  /** Of each flow, as far as it was foreseen. */
  flows: Map<string, number>
}

const books = new WeakMap<Ledger, Book>()

function findBook(ledger: Ledger): Book {
  const known = books.get(ledger) ?? { spent: new Map(), mailed: new Map(), flows: new Map() }
  books.set(ledger, known)
  return known
}

const add = (sums: Map<string, number>, name: string, more: number): number => {
  const sum = (sums.get(name) ?? 0) + more
  sums.set(name, sum)
  return sum
}

export function checkMoney(ledger: Ledger, event: Event): Broken {
  const book = findBook(ledger)
  if (event.type === 'message.sent' && event.senderTurn !== null)
    add(book.mailed, event.senderTurn, event.grant.nanoUsdMax ?? 0)
  if (event.type === 'turn.ended' && event.turn !== null)
    book.spent.set(event.turn, event.spent?.nanoUsd ?? 0)
  if (event.type === 'step.ended' && event.turn !== null) return checkStep(ledger, book, event)
  return event.type === 'call.opened' ? checkReserved(ledger, book, event) : null
}

function checkStep(ledger: Ledger, book: Book, { turn, usage }: EventOf<'step.ended'>): Broken {
  const cost = usage?.cost
  if (cost === undefined || turn === null) return null
  add(book.spent, turn, cost.nanoUsd)
  const { flow } = ledger.turn(turn)
  const all = add(book.flows, flow, cost.by === 'table' ? cost.nanoUsd : 0)
  const max = ledger.turns.get(flow.replace(/^flow_/, 'turn_') as LedgerTurn['id'])?.grant.nanoUsdMax
  return max !== undefined && all > max ? `R7: ${flow} has spent ${all} of ${max}` : null
}

function checkReserved(ledger: Ledger, book: Book, event: EventOf<'call.opened'>): Broken {
  const parent = ledger.turn(event.turn)
  const max = parent.grant.nanoUsdMax
  if (max === undefined) return null
  const reserved = event.grant.nanoUsdMax
  if (reserved === undefined) return `R7: ${event.call} has no budget under one of ${max}`
  const left = max - (book.spent.get(parent.id) ?? 0) - countBelow(book, parent)
  return reserved > Math.max(0, left)
    ? `R7: ${event.call} reserves ${reserved} and ${left} of ${max} is left`
    : null
}

function countBelow(book: Book, turn: LedgerTurn): number {
  let sum = book.mailed.get(turn.id) ?? 0
  for (const child of turn.children) {
    const held = child.grant.nanoUsdMax ?? 0
    if (held === 0) continue
    if (child.state !== 'ended') sum += held
    else if (child.epoch > 0) sum += (book.spent.get(child.id) ?? 0) + countBelow(book, child)
  }
  return sum
}
