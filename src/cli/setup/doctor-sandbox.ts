/** What `tieline doctor` finds out about who can do what: by trying it. */
import type { Finding } from '../commands/doctor.ts'
import type { Place } from '../reach/place.ts'
import { ok, problem, warning } from './doctor-agents.ts'

export async function checkSandbox({ config }: Pick<Place, 'config'>): Promise<Finding[]> {
  const [{ findSandbox }, { describePeers, describeUnconfined }] = await Promise.all([
    import('../../adapters/sandbox/probe.ts'),
    import('../../adapters/sandbox/describe-open.ts'),
  ])
  const { server, agents } = config
  const found = await findSandbox()
  const open = {
    auth: server.auth === 'on' ? ('tokens' as const) : ('open' as const),
    platform: process.platform,
    mode: server.sandbox,
    agents,
  }
  const peers = describePeers(open)
  const needed = [server.sandbox, ...agents.map(({ sandbox }) => sandbox)].includes('required')
  const unconfined = describeUnconfined(open, found)
  return [
    ...(peers === null ? [] : [warning('identity', peers, 'Set auth = "on" in [server].')]),
    found.kind !== 'none'
      ? unconfined === null
        ? ok('sandbox', `${found.kind} works: a command was run in it`)
        : warning('sandbox', unconfined, 'Set sandbox = "auto" in [server], or for the agent.')
      : needed
        ? problem('sandbox', `it is required, and there is none: ${found.why}`, found.cure)
        : warning('sandbox', unconfined ?? `there is none: ${found.why}`, found.cure),
  ]
}
