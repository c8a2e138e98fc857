/**
 * Names that agents and users chose. They are shown in a direction of their own, so that no letter in them
 * turns the text around them.
 */
import { shortId } from '../amounts.ts'
import { toSession } from '../address.ts'
import { agentNameOf, called, nameOf } from '../live/ledger.ts'
import { useLive, useSession } from '../live/use-live.ts'

export const Name = ({ children }: { children: string }) => (
  <bdi className="name">{children === '' ? '—' : children}</bdi>
)

/** A session by its agent and its title, or the end of its id, as a link to it. */
export function SessionLink({ id, withAgent = true }: { id: string; withAgent?: boolean }) {
  const session = useSession(id)
  const agent = session === undefined ? '' : agentNameOf(session)
  const title = session?.title ?? ''
  return (
    <a
      className="session-link"
      href={toSession(id)}
      title={session === undefined ? id : `${nameOf(session)} · ${id}`}
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
        <span className="id">{shortId(id)}</span>
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

/** Agents as the server names them, some with their session in brackets. */
export function AgentPath({ agents }: { agents: readonly string[] }) {
  const { ledger } = useLive()
  return <Path names={agents.map((agent) => agent.replace(/^[^ ]+/, (name) => called(ledger, name)))} />
}
