/** Requests of a log that an older version wrote: the same rows that a fold of it makes. */
import type { DatabaseSync } from 'node:sqlite'
import { toCallId } from '../model/id.ts'
import { opensTurn } from '../model/opening.ts'
import { askAgent, endRequest, openRequest, prepareRequestWrites } from './apply-requests.ts'
import { prepareFindEvent } from './log-row.ts'

type Root = { turn: string; flow: string; session: string; opened: number; ended: number | null }

/** In an open transaction. What cannot be read of a row stays as it is for one that runs. */
export function fillRequests(db: DatabaseSync): void {
  const writes = prepareRequestWrites(db)
  const find = prepareFindEvent(db)
  const firstCall = db.prepare(
    `select id, opened_seq as opened from turns
      where flow = ?1 and caller_turn = ?2 and caller is not null order by opened_at, id limit 1`,
  )
  // Collected first: what is read from must not be written to meanwhile.
  const roots = db
    .prepare(
      `select id as turn, flow, session, opened_seq as opened, iif(state = 'ended', ended_seq, null) as ended
        from turns where caller is null and id = 'turn_' || substr(flow, 6) order by opened_seq`,
    )
    .all() as Root[]
  for (const { turn, flow, opened, ended } of roots) {
    const event = find(opened)?.event
    if (event === undefined || !opensTurn(event)) continue
    if (openRequest(writes, event, opened, undefined)) {
      const call = firstCall.get(flow, turn) as { id: string; opened: number } | undefined
      const made = call === undefined ? undefined : find(call.opened)?.event
      if (made?.type === 'call.opened' && made.call === toCallId(call?.id as never)) askAgent(writes, made)
    }
    const end = ended === null ? undefined : find(ended)?.event
    if (end?.type === 'turn.ended') endRequest(writes, { seq: opened, flow, turn }, end)
  }
}
