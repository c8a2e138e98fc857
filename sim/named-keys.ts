/**
 * Which keys a transaction may get only when it asks for them. An act names what it knows beforehand. The store
 * repairs what is missing by running the work again, so an act that forgets a key works, until two of them meet
 * on a store where works overlap.
 */
import type { SessionFacts } from '../src/model/facts.ts'
import { NeedsKeys, type Key, type Tx } from '../src/runtime/kernel/store-port.ts'

type Readers = Record<string, (...given: unknown[]) => Promise<unknown>>

/** Facts that lead to others, with the kinds of their keys: nobody knows those before they are read. */
const led: Readonly<Record<string, readonly string[]>> = {
  // Whom the target waits for, directly or not.
  open: ['session:'],
  // What is pending below.
  below: ['session:'],
  // What an act has accepted, when it is tried again, and for whom.
  accepted: ['message:', 'session:'],
  // Whose inbox it waits in, of which flow it is, or that it does not wait any more.
  message: ['session:', 'message:', 'flow:'],
  // Who asked: an answer knows only the question.
  question: ['session:'],
}

/** `report` gets what is wrong. */
export function expectNamed(tx: Tx, report: (why: string) => void): Tx {
  const expecting: Record<string, unknown> = { ...tx }
  /** Those above a session are found one by one. */
  const above = new Set<string>()
  for (const [name, read] of Object.entries(tx as unknown as Readers)) {
    if (typeof read !== 'function' || name === 'append') continue
    expecting[name] = async (...given: unknown[]) => {
      try {
        const value = await read(...given)
        if (name === 'session') above.add(`session:${(value as SessionFacts).session?.parent ?? ''}`)
        return value
      } catch (error) {
        if (error instanceof NeedsKeys)
          for (const key of error.keys)
            if (!above.has(key) && !mayLack(name, key))
              report(`R1: ${name}(${JSON.stringify(given)}) needs ${key}, which was not named`)
        throw error
      }
    }
  }
  return expecting as unknown as Tx
}

const mayLack = (fact: string, key: Key): boolean => led[fact]?.some((kind) => key.startsWith(kind)) ?? false
