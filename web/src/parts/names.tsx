/**
 * Names that agents and users chose. Their text direction is isolated, so that no character in them reorders
 * the text around them.
 */
import { shortenId } from '../format.ts'
import { linkToSession } from '../address.ts'
import { nameSessionAgent, nameAgent } from '../live/ledger.ts'
import { nameSession } from '../live/describe-facts.ts'
import { useLive, useSession } from '../live/use-live.ts'

export const Name = ({ children }: { children: string }) => (
  <bdi className="name">{children === '' ? '—' : children}</bdi>
)

/** A link to a session, by its agent and its title or the end of its id. */
export function SessionLink({ id, withAgent = true }: { id: string; withAgent?: boolean }) {
  const session = useSession(id)
  const { ledger } = useLive()
  const agent = session === undefined ? '' : nameSessionAgent(session)
  const title = session === undefined ? '' : nameSession(ledger, session)
  return (
    <a
      className="session-link"
      href={linkToSession(id)}
      title={session === undefined ? id : `${nameSession(ledger, session)} · ${id}`}
    >
      {withAgent && agent !== '' && (
        <>
          <Name>{agent}</Name>{' '}
        </>
      )}
      {title !== '' && title !== agent ? (
        <>
          “<Name>{title}</Name>”
        </>
      ) : (
        <span className="id">{shortenId(id)}</span>
      )}
    </a>
  )
}

export const Path = ({ names }: { names: readonly string[] }) => (
  <span className="path">
    {names.map((name, index) => (
      <span key={index}>
        {index > 0 && (
          <span className="arrow" aria-label="calls">
            {' '}
            →{' '}
          </span>
        )}
        <Name>{name}</Name>
      </span>
    ))}
  </span>
)

/** Agents as the server writes them, some with their session in brackets. */
export function AgentPath({ agents }: { agents: readonly string[] }) {
  const { ledger } = useLive()
  return <Path names={agents.map((agent) => agent.replace(/^[^ ]+/, (name) => nameAgent(ledger, name)))} />
}
