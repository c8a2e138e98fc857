/** A view that is loaded on demand. If that fails, the rest of the page keeps working. */
import { Component, useEffect, useState, type ComponentType, type ReactNode } from 'react'
import { useLiveTopic } from '../live/use-live.ts'
import { Loading, Problem } from './states.tsx'

export type LazyView<P extends object> = {
  View: (props: P) => ReactNode
  /** Loads it now, so that it works even if the server goes away later. */
  fetch(): Promise<void>
}

export function lazyView<P extends object>(load: () => Promise<ComponentType<P>>): LazyView<P> {
  let Found: ComponentType<P> | null = null
  const fetch = async (): Promise<void> => {
    Found ??= await load()
  }
  function View(props: P): ReactNode {
    const isOpen = useLiveTopic('connection').connection().state === 'open'
    const [state, setState] = useState<{ round: number; error: unknown }>({ round: 0, error: null })
    // Retried when the server is back.
    useEffect(() => {
      if (Found !== null) return
      let isOver = false
      fetch().then(
        () => isOver || setState((known) => ({ ...known, error: null })),
        (error: unknown) => isOver || setState((known) => ({ ...known, error })),
      )
      return () => {
        isOver = true
      }
    }, [state.round, isOpen])
    if (Found !== null) return <Found {...props} />
    return state.error === null ? (
      <Loading what="this part of the page" />
    ) : (
      <Problem
        what="This part of the page could not be loaded."
        error={state.error}
        retry={() => setState(({ round }) => ({ round: round + 1, error: null }))}
      />
    )
  }
  return { View, fetch }
}

/** Contains an error while drawing. A new `place` clears it. */
export class Boundary extends Component<
  { place: string; children: ReactNode },
  { error: unknown; place: string }
> {
  override state = { error: null as unknown, place: this.props.place }
  static getDerivedStateFromError = (error: unknown) => ({ error })
  static getDerivedStateFromProps = ({ place }: { place: string }, state: { place: string }) =>
    place === state.place ? null : { place, error: null }
  override render(): ReactNode {
    return this.state.error === null ? (
      this.props.children
    ) : (
      <Problem
        what="This part of the page broke."
        error={this.state.error}
        retry={() => this.setState({ error: null })}
      />
    )
  }
}
