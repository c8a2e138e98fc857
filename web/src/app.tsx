/** The frame of the page: where one is, whether it is live, and the view. */
import { useEffect, useState } from 'react'
import { hrefOf, useAddress, type Address } from './address.ts'
import { after } from './browser-clock.ts'
import { Count } from './parts/badges.tsx'
import { Boundary, lateView } from './parts/late-view.tsx'
import { useKeys } from './keys.ts'
import { draftsOfAgents } from './live/fold-mail.ts'
import { useLook } from './live/use-live.ts'
import { ConnectionBar, TokenForm } from './connection-bar.tsx'
import { KeyHelp } from './key-help.tsx'
import { ThemeSwitch } from './theme-switch.tsx'
import { SessionsView } from './views/sessions-view.tsx'
import { StoreBar } from './store-bar.tsx'

const late = {
  start: lateView(async () => (await import('./views/start-view.tsx')).StartView),
  flows: lateView(async () => (await import('./views/flows-view.tsx')).FlowsView),
  flow: lateView(async () => (await import('./flow/flow-view.tsx')).FlowView),
  waits: lateView(async () => (await import('./views/waits-view.tsx')).WaitsView),
  inbox: lateView(async () => (await import('./views/inbox-view.tsx')).InboxView),
  numbers: lateView(async () => (await import('./views/numbers-view.tsx')).NumbersView),
}

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
  // All parts are fetched once the page stands, so that none is missing when the server is away.
  const isRead = useLook('flows').loaded().log
  useEffect(() => {
    if (isRead) for (const part of Object.values(late)) part.fetch().catch(() => undefined)
  }, [isRead])
  const connection = live.connection()
  if (connection.state === 'refused' && connection.needsToken) return <TokenForm why={connection.why} />
  return (
    <div className="app">
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.querySelector<HTMLElement>('main')?.focus()
        }}
      >
        Skip to the content
      </a>
      <Header address={address} onHelp={() => setHelping(true)} />
      <ConnectionBar />
      <StoreBar />
      <main id="main" tabIndex={-1}>
        <Boundary place={address.path.join('/')}>
          <View address={address} />
        </Boundary>
      </main>
      {helping && <KeyHelp views={views} onClose={() => setHelping(false)} />}
    </div>
  )
}

function Header({ address, onHelp }: { address: Address; onHelp: () => void }) {
  const at = address.path[0] ?? 'sessions'
  return (
    <header className="top">
      <a className="brand" href={hrefOf(['start'])} aria-label="Tieline, start">
        <img src="/icon.svg" alt="" width="20" height="20" />
        <span aria-hidden="true">Tieline</span>
      </a>
      <nav aria-label="Views">
        {views
          .filter(({ name }) => name !== 'start')
          .map(({ name, title }) => (
            <a key={name} href={hrefOf([name])} aria-current={at === name ? 'page' : undefined}>
              {title}
              {name === 'inbox' && <InboxCount />}
            </a>
          ))}
      </nav>
      <div className="top-end">
        <ThemeSwitch />
        <button type="button" className="quiet" onClick={onHelp} aria-label="Keys and help">
          ?
        </button>
      </div>
    </header>
  )
}

function InboxCount() {
  const live = useLook('questions')
  useLook('sessions')
  useLook('mail')
  const mail = [...live.ledger.sessions.values()].reduce(
    (sum, session) => sum + (session.archived ? 0 : session.buffered),
    0,
  )
  return (
    <Count count={live.ledger.questions.size + mail + draftsOfAgents(live.ledger)} label="waiting for you" />
  )
}

function View({ address }: { address: Address }) {
  const live = useLook('sessions')
  const [at, id] = address.path
  if (at === 'flows')
    return id === undefined ? <late.flows.View /> : <late.flow.View key={id} id={id} query={address.query} />
  if (at === 'waits') return <late.waits.View />
  if (at === 'inbox') return <late.inbox.View tab={id ?? null} />
  if (at === 'numbers') return <late.numbers.View query={address.query} />
  // Nothing has happened here yet: teach.
  if (at === 'start' || (at === undefined && live.loaded().lists && live.ledger.sessions.size === 0))
    return <late.start.View query={address.query} />
  return <SessionsView session={id ?? null} query={address.query} />
}
