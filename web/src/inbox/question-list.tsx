/** The queue of permission questions: who asks, on whose behalf, for what, and until when. */
import { useState } from 'react'
import { linkToFlow } from '../address.ts'
import { formatDuration } from '../format.ts'
import { useNow } from '../browser-clock.ts'
import type { QuestionFact } from '../live/ledger.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { formatJson } from '../parts/format-json.ts'
import { Name, Path, SessionLink } from '../parts/names.tsx'
import { Empty, Problem } from '../parts/states.tsx'

export function QuestionList() {
  const live = useLiveTopic('questions')
  const questions = [...live.ledger.questions.values()].sort((a, b) => a.deadline - b.deadline)
  if (questions.length === 0)
    return (
      <Empty title="No questions.">
        <p>
          An agent asks here before it uses a tool that is listed under <code>ask</code> in its configuration.
        </p>
      </Empty>
    )
  return (
    <ul className="cards">
      {questions.map((question) => (
        <li key={question.id} className="card">
          <QuestionCard question={question} />
        </li>
      ))}
    </ul>
  )
}

function QuestionCard({ question }: { question: QuestionFact }) {
  const live = useLiveTopic('questions')
  const now = useNow()
  const [problem, setProblem] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const answer = async (word: 'allow' | 'deny'): Promise<void> => {
    setBusy(true)
    try {
      await live.client.questions.answer(question.id, word)
    } catch (error) {
      setProblem(error)
      setBusy(false)
    }
  }
  return (
    <>
      <p className="card-head">
        <strong>
          <Name>{question.agent}</Name>
        </strong>{' '}
        wants to use <code>{question.tool}</code>{' '}
        <span className="hint">
          denied without an answer in {formatDuration(Math.max(0, question.deadline - now))}
        </span>
      </p>
      <CodeBlock label={`What ${question.tool} would be given`} text={formatJson(question.input)} />
      <p className="hint">
        For <Path names={question.path} /> · <SessionLink id={question.session} withAgent={false} /> ·{' '}
        <a href={linkToFlow(question.flow)}>Flow</a>
      </p>
      {problem !== null && <Problem what="It was not answered." error={problem} />}
      <p className="card-acts">
        <button type="button" className="primary" disabled={busy} onClick={() => void answer('allow')}>
          Allow once
        </button>
        <button type="button" className="danger" disabled={busy} onClick={() => void answer('deny')}>
          Deny
        </button>
      </p>
    </>
  )
}
