/** The frame of the page: navigation, connection and the current view. */
import { useEffect, useRef, useState } from 'react'
import { buildHref, useAddress, type Address } from './address.ts'
import { now } from './browser-clock.ts'
import { Count } from './parts/badges.tsx'
import { Boundary, lazyView } from './parts/lazy-view.tsx'
import { useKeys } from './keys.ts'
import { countAgentDrafts } from './live/fold-mail.ts'
import { useLiveTopic } from './live/use-live.ts'
import { ConnectionBar, TokenForm } from './connection-bar.tsx'
import { NeedsProvider, useNeeds } from './needs/needs.tsx'
import { KeyHelp } from './key-help.tsx'
import { ThemeSwitch } from './theme-switch.tsx'
import { SessionsView } from './views/sessions-view.tsx'
import { StoreBar } from './store-bar.tsx'

const lazyViews = {
  now: lazyView(async () => (await import('./views/now-view.tsx')).NowView),
  start: lazyView(async () => (await import('./views/start-view.tsx')).StartView),
  flows: lazyView(async () => (await import('./views/flows-view.tsx')).FlowsView),
  flow: lazyView(async () => (await import('./flow/flow-view.tsx')).FlowView),
  waits: lazyView(async () => (await import('./views/waits-view.tsx')).WaitsView),
  inbox: lazyView(async () => (await import('./views/inbox-view.tsx')).InboxView),
  numbers: lazyView(async () => (await import('./views/numbers-view.tsx')).NumbersView),
}

const views = [
  { name: 'now', title: 'Now', key: 'o' },
  { name: 'sessions', title: 'Sessions', key: 's' },
  { name: 'flows', title: 'Flows', key: 'f' },
  { name: 'waits', title: 'Waits', key: 'w' },
  { name: 'inbox', title: 'Inbox', key: 'i' },
  { name: 'numbers', title: 'Numbers', key: 'n' },
  { name: 'start', title: 'Start', key: 'h' },
] as const

const goesMs = 3000

export function App() {
  const address = useAddress()
  const [helping, setHelping] = useState(false)
  /** A `g` pressed by mistake has no effect for long. */
  const goesUntil = useRef(0)
  const live = useLiveTopic('connection')
  const open = (name: string): void => {
    goesUntil.current = 0
    location.hash = buildHref([name])
  }
  useKeys(() => ({
    '?': () => setHelping(true),
    '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
    g: () => void (goesUntil.current = now() + goesMs),
    ...(now() < goesUntil.current
      ? Object.fromEntries(views.map(({ key, name }) => [key, () => open(name)]))
      : {}),
  }))
  // All views are loaded early, so that none is missing when the server is away.
  const isRead = useLiveTopic('flows').loaded().log
  useEffect(() => {
    if (isRead) for (const part of Object.values(lazyViews)) part.fetch().catch(() => undefined)
  }, [isRead])
  const connection = live.connection()
  if (connection.state === 'refused' && connection.needsToken) return <TokenForm why={connection.why} />
  return (
    <NeedsProvider>
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
    </NeedsProvider>
  )
}

function Header({ address, onHelp }: { address: Address; onHelp: () => void }) {
  const at = address.path[0] ?? 'now'
  return (
    <header className="top">
      <a className="brand" href={buildHref(['now'])} aria-label="Tieline, now">
        <img src="/icon.svg" alt="" width="20" height="20" />
        <span aria-hidden="true">Tieline</span>
      </a>
      <nav aria-label="Views">
        {views
          .filter(({ name }) => name !== 'start')
          .map(({ name, title }) => (
            <a key={name} href={buildHref([name])} aria-current={at === name ? 'page' : undefined}>
              {title}
              {name === 'now' && <NeedsCount />}
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

function NeedsCount() {
  const { needs } = useNeeds()
  return <Count count={needs?.length ?? 0} label="waiting for you" />
}

function InboxCount() {
  const live = useLiveTopic('sessions')
  useLiveTopic('mail')
  const mail = [...live.ledger.sessions.values()].reduce(
    (sum, session) => sum + (session.archived ? 0 : session.buffered),
    0,
  )
  return <Count count={mail + countAgentDrafts(live.ledger)} label="in the inbox" isQuiet />
}

function View({ address }: { address: Address }) {
  const live = useLiveTopic('sessions')
  const [at, id] = address.path
  if (at === 'flows')
    return id === undefined ? (
      <lazyViews.flows.View />
    ) : (
      <lazyViews.flow.View key={id} id={id} query={address.query} />
    )
  if (at === 'waits') return <lazyViews.waits.View />
  if (at === 'inbox') return <lazyViews.inbox.View tab={id ?? null} />
  if (at === 'numbers') return <lazyViews.numbers.View query={address.query} />
  // On a fresh server the first page explains itself.
  if (at === 'start' || (at === undefined && live.loaded().lists && live.ledger.sessions.size === 0))
    return <lazyViews.start.View query={address.query} />
  if (at === undefined || at === 'now') return <lazyViews.now.View />
  return <SessionsView session={id ?? null} query={address.query} />
}
