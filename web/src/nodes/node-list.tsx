/** The nodes of a cluster, with what each runs. A server that has the log to itself shows nothing of this. */
import { useState } from 'react'
import type { NodeView } from '../../../src/wire/server.ts'
import { useNow } from '../browser-clock.ts'
import { formatAge, formatDateTime } from '../format.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { Name } from '../parts/names.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { useLoaded } from '../parts/use-loaded.ts'

const askEveryMs = 3000

export function NodeList() {
  const live = useLiveTopic('connection')
  const now = useNow()
  const [kept, setKept] = useState<readonly NodeView[] | null>(null)
  // A server that is no cluster does not become one, so it is asked once.
  const tick = kept?.length === 0 ? 0 : Math.floor(now / askEveryMs)
  const { value } = useLoaded(`nodes ${tick}`, (signal) => live.client.nodes({ signal }))
  if (value !== null && value !== kept) setKept(value)
  if (kept === null || kept.length === 0) return null
  return (
    <>
      <h2 id="nodes">Nodes</h2>
      <div className="table-scroll">
        <table className="table" aria-labelledby="nodes">
          <TableHead
            columns={['Node', 'State', 'Running', 'Labels', 'Version', 'Address', 'Up']}
            numeric={['Running', 'Up']}
          />
          <tbody>
            {kept.map((node) => (
              <NodeRow key={node.id} node={node} now={now} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function NodeRow({ node, now }: { node: NodeView; now: number }) {
  const { name, alive, running, labels, version, url, startedAt, until } = node
  return (
    <tr>
      <td>
        <Name>{name}</Name>
      </td>
      <td>
        <span className={`badge tone-${alive ? 'good' : 'bad'}`}>{alive ? 'alive' : 'gone'}</span>
      </td>
      <td className="number">{alive ? running : ''}</td>
      <td>
        <bdi>{labels.join(', ')}</bdi>
      </td>
      <td>{version}</td>
      <td>{url ?? 'serves nobody'}</td>
      <td
        className="number"
        title={`since ${formatDateTime(startedAt)}${alive ? '' : `, until ${formatDateTime(until)}`}`}
      >
        {formatAge((alive ? now : until) - startedAt)}
      </td>
    </tr>
  )
}
