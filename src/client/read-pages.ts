/**
 * Reads a list of mail to its end. A page is short where its messages are long, so only `next` says whether
 * there is more.
 */
import type { MailPage, MessageRecord } from '../wire/mail.ts'

/** R11: as many pages as an inbox has messages at most. */
const pagesMax = 1000

/** `read` is given the `next` of the page before. */
export async function readPages(
  read: (next: number | null) => Promise<Pick<MailPage, 'messages' | 'next'>>,
): Promise<MessageRecord[]> {
  const found: MessageRecord[] = []
  for (let page = 0, at: number | null = null; page < pagesMax; page += 1) {
    const { messages, next }: MailPage = await read(at)
    found.push(...messages)
    if (next === null) break
    at = next
  }
  return found
}
