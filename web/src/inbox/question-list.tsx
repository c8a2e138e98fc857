/** The queue of permission questions, the most urgent first. */
import { NeedCard } from '../needs/need-card.tsx'
import { useNeeds } from '../needs/needs.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'

export function QuestionList() {
  const { needs, error, again } = useNeeds()
  if (error !== null && needs === null)
    return <Problem what="The questions could not be read." error={error} retry={again} />
  if (needs === null) return <Loading what="the questions" />
  const questions = needs
    .filter(({ kind }) => kind === 'question')
    .toSorted((a, b) => (a.deadline ?? Infinity) - (b.deadline ?? Infinity))
  if (questions.length === 0)
    return (
      <Empty title="No questions.">
        <p>
          An agent asks here before it uses a tool that is listed under <code>ask</code> in its configuration.
        </p>
      </Empty>
    )
  return (
    <div className="cards">
      {questions.map((need) => (
        <NeedCard key={need.id} need={need} />
      ))}
    </div>
  )
}
