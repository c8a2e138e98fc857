/** What went wrong between this node and its database, in plain words. */
import { faultWords, isDiskFault, type FaultWords } from '../disk-fault.ts'
import { LinkFault } from './link.ts'

/** PostgreSQL does not have what this node has seen in it. */
export class LogReplaced extends Error {}

/** Nodes of a newer version write what this one cannot fold. */
export class LogNewer extends Error {}

export function explainFault(cause: unknown): FaultWords & { freeBytes: null } {
  const said = cause instanceof Error ? cause.message : String(cause)
  const words = (reason: string, cure: string, passes = true) => ({ reason, cure, passes, freeBytes: null })
  if (isDiskFault(cause)) return { ...faultWords(cause), freeBytes: null }
  if (cause instanceof LogReplaced)
    return words(said, 'Restart this node: it then reads the log again, as it is now.', false)
  if (cause instanceof LogNewer)
    return words(said, 'Update Tieline on this machine, and restart this node.', false)
  if (cause instanceof LinkFault)
    return words(
      `PostgreSQL cannot be reached (${said})`,
      'Check that it runs and that this machine may connect to it.',
    )
  const code = (cause as { code?: unknown } | null)?.code
  if (code === '55P03' || code === '40P01')
    return words(`another node has held what this needs for too long (${said})`, 'Look at "tieline nodes".')
  return words(`PostgreSQL refused it (${said})`, "Look at PostgreSQL's log.")
}
