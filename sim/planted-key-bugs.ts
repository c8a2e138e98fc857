/**
 * Planted bugs of keys: an act does not name one that it needs. What it `forgets` nobody asks it for either, as
 * if the facts did not know that they need it: only works that overlap show it.
 */
import type { Key } from '../src/runtime/kernel/store-port.ts'
import type { Bug } from './bug.ts'

const isOf = (key: string | undefined, kind: string): boolean => key?.startsWith(`${kind}:`) === true

/** Each act names its keys in an order of its own. */
const acts = {
  open: (keys: readonly Key[]) => isOf(keys[0], 'session') && isOf(keys[1], 'flow') && isOf(keys[2], 'call'),
  send: (keys: readonly Key[]) => isOf(keys[0], 'session') && isOf(keys[1], 'flow') && !isOf(keys[2], 'call'),
  end: (keys: readonly Key[]) => isOf(keys[0], 'flow'),
  accept: (keys: readonly Key[]) => isOf(keys[0], 'session') && isOf(keys[1], 'message') && keys.length === 2,
  single: (keys: readonly Key[]) => isOf(keys[0], 'session') && keys.length === 1,
}

const forgets =
  (
    name: string,
    says: string,
    act: keyof typeof acts,
    forgotten: (key: string, keys: readonly Key[]) => boolean,
  ) =>
  (): Bug => ({
    name,
    law: 'R1',
    says,
    shows: ({ overlap }) => overlap,
    forgets: (keys) => (key) => acts[act](keys) && forgotten(key, keys),
  })

export const keyBugs: readonly (() => Bug)[] = [
  () => ({
    name: 'unnamed-flow',
    law: 'R1',
    says: 'a call does not name its flow, and the store has to ask for it',
    keys: (keys) => (acts.open(keys) ? keys.filter((key) => !isOf(key, 'flow')) : keys),
  }),
  forgets('open-without-flow', 'a call opens without the key of its flow', 'open', (key) =>
    isOf(key, 'flow'),
  ),
  forgets(
    'open-without-target',
    'a call opens without the key of its target',
    'open',
    (key, keys) => key === keys[3],
  ),
  forgets(
    'open-without-path',
    'a call opens without the keys of those that its target waits for',
    'open',
    (key, keys) => isOf(key, 'session') && key !== keys[0] && key !== keys[3],
  ),
  forgets(
    'send-without-receiver',
    'a message is sent without the key of its receiver',
    'send',
    (key, keys) => key === keys[0],
  ),
  forgets('claim-without-session', 'a session is claimed without its key', 'single', () => true),
  forgets('end-without-caller', 'a call ends without the keys of those above it', 'end', (key) =>
    isOf(key, 'session'),
  ),
  forgets(
    'end-without-below',
    'a call ends without the keys of those below it',
    'end',
    (key, keys) => isOf(key, 'session') && !keys.includes(key as Key),
  ),
  forgets('accept-without-inbox', 'a message is accepted without the key of its inbox', 'accept', (key) =>
    isOf(key, 'session'),
  ),
]
