/** The frame of the page: where one is, whether it is live, and the view. */
import { lazy, Suspense, useState } from 'react'
import { hrefOf, useAddress, type Address } from './address.ts'
import { after } from './browser-clock.ts'
import { Count } from './parts/badges.tsx'
import { Loading } from './parts/states.tsx'
import { useKeys } from './keys.ts'
import { draftsOfAgents } from './live/fold-mail.ts'
import { useLook } from './live/use-live.ts'
import { ConnectionBar, TokenForm } from './connection-bar.tsx'
import { KeyHelp } from './key-help.tsx'
import { ThemeSwitch } from './theme-switch.tsx'
import { SessionsView } from './views/sessions-view.tsx'

const StartView = lazy(() => import('./views/start-view.tsx').then((file) => ({ default: file.StartView })))
const FlowsView = lazy(() => import('./views/flows-view.tsx').then((file) => ({ default: file.FlowsView })))
const FlowView = lazy(() => import('./flow/flow-view.tsx').then((file) => ({ default: file.FlowView })))
const WaitsView = lazy(() => import('./views/waits-view.tsx').then((file) => ({ default: file.WaitsView })))
const InboxView = lazy(() => import('./views/inbox-view.tsx').then((file) => ({ default: file.InboxView })))
const NumbersView = lazy(() => import('./views/numbers-view.tsx').then((file) => ({ default: file.NumbersView })))

const views = [
  { name: 'sessions', title: 'Sessions', key: 's' },
  { name: 'flows', title: 'Flows', key: 'f' },
  { name: 'waits', title: 'Waits', key: 'w' },
  { name: 'inbox', title: 'Inbox', key: 'i' },
  { name: 'numbers', title: 'Numbers', key: 'n' },
  { name: 'start', title: 'Start', key: 'h' },
] as const

const wentMs = 1500

export function App() {
  const address = useAddress()
  const [helping, setHelping] = useState(false)
  const [went, setWent] = useState(false)
  const live = useLook('connection')
  const open = (name: string): void => {
    setWent(false)
    location.hash = hrefOf([name])
  }
  useKeys({
    '?': () => setHelping(true),
    '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
    g: () => {
      setWent(true)
      // Whoever pressed it by mistake writes on undisturbed.
      after(wentMs, () => setWent(false))
    },
    ...(went ? Object.fromEntries(views.map(({ key, name }) => [key, () => open(name)])) : {}),
  })
  const connection = live.connection()
  if (connection.state === 'refused' && connection.needsToken) return <TokenForm why={connection.why} />
  return (
    <div className="app">
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); document.querySelector<HTMLElement>('main')?.focus() }}>Skip to the content</a>
      <Header address={address} onHelp={() => setHelping(true)} />
      <ConnectionBar />
      <main id="main" tabIndex={-1}><Suspense fallback={<Loading what="this part of the page" />}><View address={address} /></Suspense></main>
      {helping && <KeyHelp views={views} onClose={() => setHelping(false)} />}
    </div>
  )
}

function Header({ address, onHelp }: { address: Address; onHelp: () => void }) {
  const at = address.path[0] ?? 'sessions'
  return (
    <header className="top">
      <a className="brand" href={hrefOf(['start'])} aria-label="Tieline, start"><img src="/icon.svg" alt="" width="20" height="20" /><span aria-hidden="true">Tieline</span></a>
      <nav aria-label="Views">
        {views.filter(({ name }) => name !== 'start').map(({ name, title }) => (
          <a key={name} href={hrefOf([name])} aria-current={at === name ? 'page' : undefined}>{title}{name === 'inbox' && <InboxCount />}</a>
        ))}
      </nav>
      <div className="top-end">
        <ThemeSwitch />
        <button type="button" className="quiet" onClick={onHelp} aria-label="Keys and help">?</button>
      </div>
    </header>
  )
}

function InboxCount() {
  const live = useLook('questions')
  useLook('sessions')
  useLook('mail')
  const mail = [...live.ledger.sessions.values()].reduce((sum, session) => sum + (session.archived ? 0 : session.buffered), 0)
  return <Count count={live.ledger.questions.size + mail + draftsOfAgents(live.ledger)} label="waiting for you" />
}

function View({ address }: { address: Address }) {
  const live = useLook('sessions')
  const [at, id] = address.path
  if (at === 'flows') return id === undefined ? <FlowsView /> : <FlowView key={id} id={id} query={address.query} />
  if (at === 'waits') return <WaitsView />
  if (at === 'inbox') return <InboxView tab={id ?? null} />
  if (at === 'numbers') return <NumbersView query={address.query} />
  // Nothing has happened here yet: teach.
  if (at === 'start' || (at === undefined && live.loaded().lists && live.ledger.sessions.size === 0)) return <StartView query={address.query} />
  return <SessionsView session={id ?? null} query={address.query} />
}
