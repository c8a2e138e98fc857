/** The first page: what this is, and a demo. */
import { useState } from 'react'
import { go, buildHref, linkToFlow } from '../address.ts'
import { useLive, useLiveTopic } from '../live/use-live.ts'
import { Name } from '../parts/names.tsx'
import { Loading, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { NewSession } from '../sessions/new-session.tsx'
import { runDemo } from '../start/run-demo.ts'

const places = [
  {
    name: 'sessions',
    title: 'Sessions',
    about:
      'Every conversation, as a tree by who opened it. Open one to read along, write, cancel or fork it.',
  },
  {
    name: 'flows',
    title: 'Flows',
    about: [
      'One request and everything it caused: who ran when, what each was shown, how it ended.',
      'The slider goes back to any event.',
    ].join(' '),
  },
  {
    name: 'waits',
    title: 'Waits',
    about: [
      'Why nothing happens: who waits for whom now,',
      'and the waits that were refused because they would have closed a ring.',
    ].join(' '),
  },
  {
    name: 'inbox',
    title: 'Inbox',
    about: 'What needs you: permission questions, mail to accept, drafts to release, notices.',
  },
  { name: 'numbers', title: 'Numbers', about: 'Calls, outcomes, tokens, context and time.' },
] as const

/** `pace=none` in the address runs the demo at full speed. */
export function StartView({ query }: { query: URLSearchParams }) {
  const live = useLive()
  const [problem, setProblem] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [chosen, setChosen] = useState<string | null>(null)
  const demo = async (): Promise<void> => {
    setBusy(true)
    try {
      go(linkToFlow(await runDemo(live, query.get('pace') !== 'none')))
    } catch (error) {
      setProblem(error)
      setBusy(false)
    }
  }
  return (
    <section className="page start" aria-label="Start">
      <h1>The line between agents</h1>
      <p className="lead">
        Agents call each other, write to each other, and wait for each other. Everything they do is in one
        log, and this page shows it as it happens.
      </p>
      <p className="start-demo">
        <button type="button" className="primary big" disabled={busy} onClick={() => void demo()}>
          {busy ? 'Starting…' : 'Run the demo'}
        </button>
        <span className="hint">Three agents, offline, about 15 seconds. No API key needed.</span>
      </p>
      {problem !== null && <Problem what="The demo did not start." error={problem} />}
      <h2>Where to look</h2>
      <dl className="teach">
        {places.map(({ name, title, about }) => (
          <div key={name}>
            <dt>
              <a href={buildHref([name])}>{title}</a>
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
      <h2>Agents here</h2>
      <AgentList onPick={setChosen} />
      <h2>From elsewhere</h2>
      <p>
        Agents of your own go into <code>tieline.toml</code> (<code>tieline init --starter</code> writes one).
        Other programs come in by <a href="/docs/">HTTP</a>, by MCP at <code>{location.origin}/mcp</code>, or
        with <code>tieline call</code>.
      </p>
      {chosen !== null && <NewSession agent={chosen} onClose={() => setChosen(null)} />}
    </section>
  )
}

function AgentList({ onPick }: { onPick: (agent: string) => void }) {
  const live = useLiveTopic('agents')
  const { value, error, again } = useLoaded(`agents ${live.topics.version('agents')}`, (signal) =>
    live.client.agents({ signal }),
  )
  if (error !== null) return <Problem what="The agents could not be read." error={error} retry={again} />
  if (value === null) return <Loading what="the agents" />
  return (
    <ul className="agents">
      {value.map((agent) => (
        <li key={agent.id}>
          <button type="button" onClick={() => onPick(agent.id)}>
            Talk to <Name>{agent.name}</Name>
          </button>{' '}
          <span className="hint">
            <bdi>{agent.description}</bdi>
            {agent.description !== '' && ' · '}
            {agent.model ?? agent.driver}
            {agent.allowSubAgentCalls && ' · may call others'}
            {agent.status === 'unavailable' && ' · unavailable'}
            {agent.limit !== undefined && ` · ${agent.limit}`}
          </span>
        </li>
      ))}
    </ul>
  )
}
