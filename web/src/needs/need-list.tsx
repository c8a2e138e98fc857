/** The list of what waits for the person, which can be worked through with the keyboard, several at once. */
import { useState } from 'react'
import type { Need } from '../../../src/wire/needs.ts'
import { pluralize } from '../format.ts'
import { moveFocus, useKeys } from '../keys.ts'
import { useLive } from '../live/use-live.ts'
import { Empty, Loading, Problem } from '../parts/states.tsx'
import { NeedCard } from './need-card.tsx'
import { performAct, useNeeds, type NeedAct } from './needs.tsx'

const findFocused = (): string | null =>
  document.activeElement?.closest<HTMLElement>('[data-need]')?.dataset['need'] ?? null

export function NeedList() {
  const live = useLive()
  const { needs, error, again } = useNeeds()
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const [problem, setProblem] = useState<unknown>(null)
  const pick = (id: string): void =>
    setPicked((known) =>
      known.has(id) ? new Set([...known].filter((one) => one !== id)) : new Set([...known, id]),
    )
  const listed = needs ?? []
  const chosen = (): Need[] => {
    const some = listed.filter(({ id }) => picked.has(id))
    const focused = findFocused()
    return some.length > 0 ? some : listed.filter(({ id }) => id === focused)
  }
  /** Only those that it can be done with. */
  const actOn = async (...acts: NeedAct[]): Promise<void> => {
    for (const need of chosen()) {
      const act = acts.find((one) => need.acts.includes(one))
      try {
        if (act !== undefined) await performAct(live.client, need, act, '')
      } catch (fault) {
        setProblem(fault)
      }
    }
    setPicked(new Set())
    again()
  }
  const pickFocused = (): void => {
    const id = findFocused()
    if (id !== null) pick(id)
  }
  useKeys({
    j: () => moveFocus('.need', 1),
    k: () => moveFocus('.need', -1),
    x: pickFocused,
    a: () => void actOn('allow', 'release', 'accept'),
    s: () => void actOn('allow_session'),
    d: () => void actOn('deny'),
    e: () => void actOn('seen'),
    r: () => document.activeElement?.closest('.need')?.querySelector<HTMLElement>('.need-reason')?.focus(),
  })
  if (error !== null && needs === null)
    return <Problem what="What waits for you could not be read." error={error} retry={again} />
  if (needs === null) return <Loading what="what waits for you" />
  if (needs.length === 0)
    return (
      <Empty title="Nothing waits for you.">
        <p>Permission questions, drafts, mail for you and failed requests appear here.</p>
      </Empty>
    )
  return (
    <>
      <p className="hint need-keys">
        {picked.size > 0 && <strong>{pluralize(picked.size, 'selected', 'selected')}. </strong>}
        <kbd>j</kbd> <kbd>k</kbd> move, <kbd>x</kbd> select, <kbd>a</kbd> allow, <kbd>s</kbd> for the session,{' '}
        <kbd>d</kbd> deny, <kbd>r</kbd> say why not, <kbd>e</kbd> seen
      </p>
      {problem !== null && <Problem what="Not all of it was done." error={problem} />}
      <div className="cards">
        {needs.map((need) => (
          <NeedCard key={need.id} need={need} isPicked={picked.has(need.id)} onPick={() => pick(need.id)} />
        ))}
      </div>
    </>
  )
}
