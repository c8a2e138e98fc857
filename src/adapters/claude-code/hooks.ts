/**
 * The hooks that tell Claude Code of its mail, as `tieline up` writes them into the user's `settings.json`. Claude
 * Code posts each event to the server; where none runs, the connection is refused at once and nothing is slowed.
 */
import { claudeHookPath, claudeMoments } from '../../wire/hooks.ts'

/** A server that hangs holds Claude Code up for no longer. */
const timeoutSeconds = 1

type HookGroup = { hooks: { type: 'http'; url: string; timeout: number }[] }

/** The `hooks` of `settings.json`; merge each list with the one that is there. */
export const claudeHooks = (server: string): Record<string, HookGroup[]> =>
  Object.fromEntries(
    Object.keys(claudeMoments).map((event) => [
      event,
      [{ hooks: [{ type: 'http', url: new URL(claudeHookPath, server).href, timeout: timeoutSeconds }] }],
    ]),
  )
