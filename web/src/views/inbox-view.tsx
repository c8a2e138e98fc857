/** Everything that waits for a person: questions, mail, drafts, notices, dead letters. */
import { buildHref } from '../address.ts'
import { Drafts } from '../inbox/drafts.tsx'
import { DeadLetters, WaitingMail } from '../inbox/mail-lists.tsx'
import { NoticeList } from '../inbox/notice-list.tsx'
import { QuestionList } from '../inbox/question-list.tsx'
import { moveFocus, useKeys } from '../keys.ts'
import { isWaiting } from '../live/fold-mail.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Count } from '../parts/badges.tsx'

const tabs = [
  { name: 'questions', title: 'Questions' },
  { name: 'mail', title: 'Mail' },
  { name: 'drafts', title: 'Drafts' },
  { name: 'notices', title: 'Notices' },
  { name: 'dead', title: 'Dead letters' },
] as const
type Tab = (typeof tabs)[number]['name']

export function InboxView({ tab }: { tab: string | null }) {
  const live = useLiveTopic('mail')
  useLiveTopic('questions')
  useLiveTopic('notices')
  const at: Tab = tabs.find(({ name }) => name === tab)?.name ?? 'questions'
  useKeys({ j: () => moveFocus('.card button, .card a', 1), k: () => moveFocus('.card button, .card a', -1) })
  const mail = [...live.ledger.mail.values()]
  const counts: Record<Tab, number> = {
    questions: live.ledger.questions.size,
    mail: mail.filter(isWaiting).length,
    drafts: mail.filter(({ status }) => status === 'draft').length,
    notices: live.ledger.notices.length,
    dead: mail.filter(({ status }) => status === 'dead').length,
  }
  return (
    <section className="page" aria-label="Inbox">
      <div className="page-head">
        <h1>Inbox</h1>
      </div>
      <nav className="tabs" aria-label="Parts of the inbox">
        {tabs.map(({ name, title }) => (
          <a key={name} href={buildHref(['inbox', name])} aria-current={at === name ? 'page' : undefined}>
            {title}
            <Count count={counts[name]} label="there" isQuiet={name === 'notices' || name === 'dead'} />
          </a>
        ))}
      </nav>
      {at === 'questions' ? (
        <QuestionList />
      ) : at === 'mail' ? (
        <WaitingMail />
      ) : at === 'drafts' ? (
        <Drafts />
      ) : at === 'notices' ? (
        <NoticeList />
      ) : (
        <DeadLetters />
      )}
    </section>
  )
}
