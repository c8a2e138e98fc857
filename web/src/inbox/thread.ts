import type { Ledger, MailFact } from '../live/ledger.ts'

/** A message with everything it replies to and everything that replies to it, oldest first. */
export function collectThread({ mail }: Pick<Ledger, 'mail'>, one: MailFact): MailFact[] {
  const found = new Map<string, MailFact>([[one.id, one]])
  for (
    let up = one.inReplyTo === null ? undefined : mail.get(one.inReplyTo);
    up !== undefined && !found.has(up.id);
    up = up.inReplyTo === null ? undefined : mail.get(up.inReplyTo)
  )
    found.set(up.id, up)
  for (let grew = true; grew;) {
    grew = false
    for (const other of mail.values()) {
      if (found.has(other.id) || other.inReplyTo === null || !found.has(other.inReplyTo)) continue
      found.set(other.id, other)
      grew = true
    }
  }
  return [...found.values()].sort((a, b) => a.createdAt - b.createdAt)
}
