import { expect, test } from 'vitest'
import type { StoredEvent } from '../../model/event.ts'
import type { MessageFacts } from '../../model/facts.ts'
import { listMail } from './explain-mail.ts'
import type { ExplainPorts } from './explain-ports.ts'

const facts = (id: string, status: string, updatedAt: number, to: string | null = 'ses_b'): MessageFacts =>
  ({ id, status, from: 'ses_a', owner: 'ses_a', to, updatedAt }) as unknown as MessageFacts

test('what turns wrote and nobody took is told, oldest first, with what it waits for', async () => {
  const known = [
    facts('msg_ready', 'ready', 3),
    facts('msg_draft', 'draft', 2, null),
    facts('msg_waits', 'buffered', 1),
    facts('msg_done', 'opened', 0),
    facts('msg_dead', 'dead', 0),
  ]
  const events = known.map(({ id }, index) => ({
    seq: index + 1,
    at: 0,
    event: { type: 'message.drafted', message: id },
  })) as unknown as StoredEvent[]
  const ports = {
    store: { session: async () => ({ agent: 'coder' }) },
    lists: { mail: { message: async (id: string) => known.find((one) => one.id === id) ?? null } },
  } as unknown as ExplainPorts
  const mail = await listMail(ports, { id: 'flow_1', kind: 'flow', turns: [] }, events)
  expect(mail.map(({ message, why }) => [message, why])).toEqual([
    ['msg_waits', 'waits in the inbox of coder (ses_b) until somebody accepts it'],
    ['msg_draft', 'is a draft to a new session: it goes out when somebody releases it'],
    ['msg_ready', 'waits for coder (ses_b) until that program takes it'],
  ])
})
