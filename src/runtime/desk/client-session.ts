/**
 * The external session of a client, made at first use, and the inbox of its address (`<client>@<directory>`),
 * which is registered with it.
 */
import { externalAgent } from '../../model/agent.ts'
import {
  isBelieved,
  nameBare,
  nameClientSession,
  nameInbox,
  renderAddress,
  type ClientProgram,
} from '../../model/client-address.ts'
import type { SessionId } from '../../model/id.ts'
import { isRefusal, type Refusal } from '../../model/refusal.ts'
import { toRealPath } from '../kernel/is-directory.ts'
import { isOfSystem } from '../kernel/is-of-system.ts'
import type { Runtime } from '../sessions/runtime.ts'
import { createSession } from '../sessions/sessions.ts'

/** As which session a client acts, and which inbox besides its own is its to take from. */
export type ClientPlace = { session: SessionId; inbox: SessionId | null }

/** Nobody works in what the kernel makes up: such a client has not said where it does. */
async function settle(said: ClientProgram): Promise<ClientProgram> {
  const real = said.cwd == null ? null : await toRealPath(said.cwd)
  const counts = real !== null && !isOfSystem(real) && isBelieved(real, said.seenIn ?? null) // A4
  return { ...said, cwd: counts ? real : null }
}

/** A4: for a program that says where it works. */
export async function refusePlace({ cwd, seenIn }: ClientProgram): Promise<Refusal | null> {
  const real = cwd == null ? null : await toRealPath(cwd)
  if (real === null || isBelieved(real, seenIn ?? null)) return null
  return {
    code: 'not_allowed',
    agent: `A program that works in ${seenIn ?? ''}`,
    what: `speak for a session in ${real}`,
    allowed: ['sessions in its own directory, and below it'],
  }
}

/** As which session a client would act, whether that is there or not. */
export const nameClient = async (client: ClientProgram): Promise<SessionId> =>
  nameClientSession(await settle(client))

/** `cwd` is where a client works that does not say where it does. */
export async function placeClient(
  runtime: Runtime,
  client: ClientProgram | null,
  cwd: string,
): Promise<ClientPlace> {
  const program = await settle(client ?? { name: '' })
  const named = nameClientSession(program)
  const isShared = program.cwd != null && named === nameInbox(program, program.cwd)
  // Side by side: a program waits for both, and they are one wait for the disk.
  const [inbox] = await Promise.all([
    program.cwd == null ? null : placeInbox(runtime, program, program.cwd),
    isShared ? null : makeClient(runtime, named, named.slice(11), program.cwd ?? cwd),
  ])
  return { session: isShared && inbox !== null ? inbox : named, inbox }
}

/** What 0.1.0 named after the directory that it ran in stays the inbox of that directory. */
async function placeInbox(runtime: Runtime, program: ClientProgram, dir: string): Promise<SessionId> {
  const id = nameInbox(program, dir)
  if ((await runtime.store.session(id)) !== null) return id
  const bare = await runtime.store.session(nameBare(program))
  if (bare?.kind === 'external' && bare.cwd === dir) return bare.id
  await makeClient(runtime, id, renderAddress({ client: nameBare(program).slice(11), dir }), dir)
  return id
}

async function makeClient(runtime: Runtime, id: SessionId, title: string, cwd: string): Promise<void> {
  if ((await runtime.store.session(id)) !== null) return
  const to = { agent: externalAgent.name, cwd, title }
  const made = await createSession(runtime, to, { kind: 'user' }, id.slice(4))
  // Somebody else has made it meanwhile.
  if (isRefusal(made) && made.code !== 'bad_input')
    throw new Error(`a session for ${title} could not be made: ${made.code}`)
}
