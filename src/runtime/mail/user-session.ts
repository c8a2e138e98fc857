/**
 * The user's own session: what the user drafts stands on its timeline, and replies to the user wait in its
 * inbox. It is like a client's: never run.
 */
import { externalAgent } from '../../model/agent.ts'
import { userSession } from '../../model/mail.ts'
import type { Runtime } from '../turns/runtime.ts'
import { newSession, createdEvent } from '../kernel/new-session.ts'

export async function userDesk(runtime: Runtime): Promise<void> {
  if ((await runtime.store.session(userSession)) !== null) return
  await runtime.store.transact([`session:${userSession}`], async (tx) => {
    if ((await tx.session(userSession)).session !== null) return
    tx.append(
      createdEvent(
        newSession({ agent: externalAgent.name, cwd: '/', title: 'user' }, userSession, tx.now, 'external'),
      ),
    )
  })
}
