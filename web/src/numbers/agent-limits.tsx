/** What agents and their providers say of their plans and rate limits, and when each is reset. */
import { formatAge, formatDateTime } from '../format.ts'
import { useNow } from '../browser-clock.ts'
import { useLiveTopic } from '../live/use-live.ts'
import { useLoaded } from '../parts/use-loaded.ts'
import { Bars, Plot } from './plots.tsx'

const nearlyUsed = 80
const warned = 95

/** Nothing where nobody has reported anything. */
export function AgentLimits({ version }: { version: string }) {
  const live = useLiveTopic('agents')
  const now = useNow()
  const { value } = useLoaded(`limits ${version} ${live.topics.version('agents')}`, (signal) =>
    live.client.agents({ signal }),
  )
  const agents = (value ?? []).filter(({ limit, windows = [] }) => limit !== undefined || windows.length > 0)
  if (agents.length === 0) return null
  const rows = agents.flatMap(({ name, windows = [] }) =>
    windows.map(({ name: window, usedPercent, resetsAt }) => ({
      name: `${name}: ${window}`,
      usedPercent,
      // oxlint-disable-next-line no-restricted-globals -- a given time becomes a number; none is read
      at: Date.parse(resetsAt),
    })),
  )
  return (
    <Plot
      title="Limits that agents report"
      note="How much of each window is used, and how long it lasts."
      head={['Window', 'Used', 'Reset']}
      rows={[
        ...rows.map(({ name, usedPercent, at }) => [name, `${usedPercent} %`, formatDateTime(at)]),
        ...agents.flatMap(({ name, limit }) => (limit === undefined ? [] : [[name, 'reached', limit]])),
      ]}
    >
      <Bars
        full={100}
        rows={rows.map(({ name, usedPercent, at }) => ({
          name,
          note: `${usedPercent} % · ${formatAge(Math.max(0, at - now))}`,
          parts: [
            {
              size: usedPercent,
              tone: usedPercent >= warned ? 'bad' : usedPercent >= nearlyUsed ? 'warn' : 'live',
              title: `${usedPercent} % used until ${formatDateTime(at)}`,
            },
          ],
        }))}
      />
      {agents.map(({ id, name, limit }) =>
        limit === undefined ? null : (
          <p key={id} className="error-line">
            <bdi>{name}</bdi> is <bdi>{limit}</bdi>
          </p>
        ),
      )}
    </Plot>
  )
}
