/** What a message is now: for the answer about one, and for a draft that is sent as it is. */
import { badInput, type Refusal } from '../../model/refusal.ts'
import type { SentMail } from '../../wire/mail.ts'
import type { MailAsk } from '../kernel/mail-port.ts'
import type { Runtime } from '../turns/runtime.ts'

/** The text of a draft, for one that is sent as it is. */
export async function readPresent(runtime: Runtime, { id, iterate }: MailAsk): Promise<string | Refusal> {
  const known = id === undefined || iterate === true ? null : await runtime.lists.mail.message(id)
  return known?.text ?? badInput('message', undefined, 'a text, unless id is that of a draft')
}

/** `note` says why a draft was not written out. */
export async function readSent(runtime: Runtime, id: string, note: string | null = null): Promise<SentMail> {
  const known = await runtime.lists.mail.message(id)
  const status = known?.status ?? 'draft'
  return {
    id: known?.id ?? id,
    session: known?.to ?? null,
    status,
    draft: status === 'draft',
    buffered: status === 'buffered',
    message: status === 'draft' ? (known?.text ?? null) : null,
    note,
  }
}
