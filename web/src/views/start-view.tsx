/** The first page: what this is, and a demo one click away. */
import { useState } from 'react'
import { go, hrefOf, toFlow } from '../address.ts'
import { useLook } from '../live/use-live.ts'
import { Name } from '../parts/names.tsx'
import { Loading, Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { NewSession } from '../sessions/new-session.tsx'
import { runDemo } from '../start/run-demo.ts'

/** `pace=none` in the address runs the demo as fast as it goes. */
export function StartView({ query }: { query: URLSearchParams }) {
  const live = useLook('agents')
  const agents = useLoaded(`agents ${live.topics.version('agents')}`, (signal) =>
    live.client.agents({ signal }),
  )
  const [problem, setProblem] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [chosen, setChosen] = useState<string | null>(null)
  const demo = async (): Promise<void> => {
    setBusy(true)
    try {
      go(toFlow(await runDemo(live, query.get('pace') !== 'none')))
    } catch (error) {
      setProblem(error)
      setBusy(false)
    }
  }
  return (
    <section className="page start" aria-label="Start">
      <h1>The line between agents</h1>
      <p className="lead">
        Agents call each other, write to each other, and wait for each other. Everything they do is one log;
        this page shows it as it happens.
      </p>
      <p>
        <button type="button" className="primary big" disabled={busy} onClick={() => void demo()}>
          {busy ? 'Starting…' : 'Run the demo'}
        </button>{' '}
        <span className="hint">Three agents, offline, a quarter of a minute. No key is needed.</span>
      </p>
      {problem !== null && <Problem what="The demo did not start." error={problem} />}
      <h2>Where to look</h2>
      <dl className="teach">
        <div>
          <dt>
            <a href={hrefOf(['sessions'])}>Sessions</a>
          </dt>
          <dd>
            Every conversation, as a tree by who opened it. Open one to read along, write, cancel or fork it.
          </dd>
        </div>
        <div>
          <dt>
            <a href={hrefOf(['flows'])}>Flows</a>
          </dt>
          <dd>
            One request and all it caused: who ran when, what each was shown, how it ended. The slider goes
            back to any event.
          </dd>
        </div>
        <div>
          <dt>
            <a href={hrefOf(['waits'])}>Waits</a>
          </dt>
          <dd>
            Why nothing happens: who waits for whom now, and the waits that were refused because they would
            have closed a ring.
          </dd>
        </div>
        <div>
          <dt>
            <a href={hrefOf(['inbox'])}>Inbox</a>
          </dt>
          <dd>What needs you: permission questions, mail to accept, drafts to release, notices.</dd>
        </div>
        <div>
          <dt>
            <a href={hrefOf(['numbers'])}>Numbers</a>
          </dt>
          <dd>Calls, outcomes, tokens, context and time.</dd>
        </div>
      </dl>
      <h2>Agents here</h2>
      {agents.error !== null ? (
        <Problem what="The agents could not be read." error={agents.error} retry={agents.again} />
      ) : agents.value === null ? (
        <Loading what="the agents" />
      ) : (
        <ul className="agents">
          {agents.value.map((agent) => (
            <li key={agent.id}>
              <button type="button" onClick={() => setChosen(agent.id)}>
                Talk to <Name>{agent.name}</Name>
              </button>{' '}
              <span className="hint">
                <bdi>{agent.description}</bdi>
                {agent.description !== '' && ' · '}
                {agent.model ?? agent.driver}
                {agent.allowSubAgentCalls && ' · may call others'}
              </span>
            </li>
          ))}
        </ul>
      )}
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
