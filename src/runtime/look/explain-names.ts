/** What people call those who ask from outside: the turns of clients are all of one agent, which says nothing. */
import { externalAgent } from '../../model/agent.ts'
import { nameClientProgram } from '../../model/client-address.ts'
import type { TurnRow } from '../../model/facts.ts'
import type { SessionId, TurnId } from '../../model/id.ts'
import { userSession } from '../../model/mail.ts'
import type { Store } from '../kernel/store-port.ts'

const ownRequest = 'your request'
/** Somebody of whom nothing but that is in sight. */
export const someClient = 'a client'

/** For the beginning of a sentence. */
export async function nameClient(store: Pick<Store, 'session'>, id: SessionId): Promise<string> {
  if (id === userSession) return ownRequest
  const row = await store.session(id)
  return row === null ? someClient : nameClientProgram(row)
}

/** The same turns with readable names, and which of them are a client's own. */
export async function nameClients(
  store: Pick<Store, 'session'>,
  rows: readonly TurnRow[],
): Promise<{ rows: TurnRow[]; clients: ReadonlySet<TurnId> }> {
  const clients = new Set<TurnId>()
  const named: TurnRow[] = []
  for (const row of rows) {
    const path = row.grant.path.map((hop) =>
      hop.agent === externalAgent.name ? { ...hop, agent: someClient } : hop,
    )
    const isClient = row.grant.agent === externalAgent.name
    if (isClient) clients.add(row.id)
    const agent = isClient ? await nameClient(store, row.session) : row.grant.agent
    named.push({ ...row, grant: { ...row.grant, agent, path } })
  }
  return { rows: named, clients }
}
