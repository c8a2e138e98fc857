/** Folds the events of one transaction into the rows, as `src/store/apply.ts` folds them into the tables. */
import type { Event, EventOf } from '../../src/model/event.ts'
import { turnNumber } from './facts.ts'
import { edit, getRow, getSession, sortSet, type Options, type Row, type State } from './state.ts'

export const rowPlain: Row = {
  st: 'queued',
  ses: null,
  path: [],
  par: 0,
  bg: false,
  key: 0,
  call: 'none',
  ends: 0,
  stop: 'no',
  node: null,
  epoch: 0,
  max: 0,
  used: 0,
  below: 0,
  pos: 0,
}

export function fold(options: Options, before: State, events: readonly Event[]): State {
  const after = events.reduce((state, event) => foldOne(options, state, event), before)
  return options.budget === 0 ? after : settle(options, before, after)
}

const endWait = (state: State, over: number): State => ({
  ...state,
  waits: state.waits.filter((id) => id !== over),
})

function foldOne(options: Options, state: State, event: Event): State {
  switch (event.type) {
    case 'message.sent':
      return {
        ...state,
        rows: [
          ...state.rows,
          {
            ...rowPlain,
            ses: event.session.slice(4),
            path: event.grant.path.map((hop) => hop.agent),
            max: options.budget,
          },
        ],
      }
    case 'call.opened':
      return openRow(state, event)
    case 'turn.started':
      return edit(state, turnNumber(event.turn ?? ''), {
        st: 'running',
        node: event.node.slice(5),
        epoch: event.epoch,
      })
    case 'session.claimed':
      return edit(state, turnNumber(event.turn ?? ''), { node: event.node.slice(5), epoch: event.epoch })
    case 'turn.cancelled':
      return edit(state, turnNumber(event.turn ?? ''), { stop: event.outcome })
    case 'turn.ended':
      return endRow(options, state, turnNumber(event.turn ?? ''))
    case 'call.ended':
      return endCall(state, event)
    case 'step.ended':
      return spend(state, turnNumber(event.turn ?? ''), event)
    case 'wait.started':
      return { ...state, waits: sortSet([...state.waits, turnNumber(event.target.replace('ses_e', '_'))]) }
    case 'wait.ended':
      return endWait(state, turnNumber(event.target.replace('ses_e', '_')))
    case 'call.steered':
    case 'mail.announced':
    case 'session.woken':
    case 'session.opened':
    case 'session.closed':
    case 'session.quieted':
    case 'session.cancelled':
    case 'session.forked':
    case 'message.drafted':
    case 'message.revised':
    case 'message.released':
    case 'message.accepted':
    case 'message.delivered':
    case 'message.answered':
    case 'message.declined':
    case 'message.died':
    case 'agent.created':
    case 'agent.deleted':
    case 'question.asked':
    case 'question.answered':
    case 'flow.seen':
    case 'session.created':
    case 'session.adopted':
    case 'session.renamed':
    case 'session.archived':
    case 'turn.suspended':
    case 'step.started':
    case 'call.refused':
    case 'notice.raised':
      return state
  }
}

function openRow(state: State, event: EventOf<'call.opened'>): State {
  const par = turnNumber(event.turn ?? '')
  const max = event.grant.tokensMax ?? 0
  const own = event.target === `ses_e${turnNumber(event.call)}`
  const row: Row = {
    ...rowPlain,
    ses: own ? null : event.target.slice(4),
    path: event.grant.path.map((hop) => hop.agent),
    par,
    bg: event.background,
    key: Number(event.key),
    call: 'pending',
    max,
  }
  const opened = edit(state, par, { below: getRow(state, par).below + max })
  return { ...opened, rows: [...opened.rows, row] }
}

function endCall(state: State, event: EventOf<'call.ended'>): State {
  const turn = turnNumber(event.call)
  const row = getRow(state, turn)
  return edit(state, turn, {
    call: event.outcome,
    ends: row.ends + 1,
    st: row.st === 'queued' ? 'ended' : row.st,
  })
}

/** The waits of a session go with the turn that began them: one that never ran has begun none. */
function endRow(options: Options, state: State, turn: number): State {
  const session = getSession(state, turn)
  const rests = getRow(state, turn).st === 'running' || !options.OwnWaits
  const waits = rests
    ? state.waits.filter((id) => getSession(state, getRow(state, id).par) !== session)
    : state.waits
  return { ...edit(state, turn, { st: 'ended' }), waits }
}

const spend = (state: State, turn: number, { usage }: EventOf<'step.ended'>): State =>
  edit(state, turn, { used: getRow(state, turn).used + (usage === null ? 0 : usage.input + usage.output) })

/**
 * R7: what a stopped turn used takes the place of what it held. A caller that has ended passed the hold on as
 * used, so the correction goes on to its own caller.
 */
function settle(options: Options, before: State, after: State): State {
  const changes = before.rows
    .map((row, index) => ({ par: row.par, tokens: givenBack(options, row, after.rows[index] as Row) }))
    .filter(({ par, tokens }) => par !== 0 && tokens !== 0)
  return changes.reduce((state, { par, tokens }) => {
    let settled = state
    for (let at = par; at !== 0; at = getRow(settled, at).st === 'ended' ? getRow(settled, at).par : 0)
      settled = edit(settled, at, { below: getRow(settled, at).below + tokens })
    return settled
  }, after)
}

function givenBack(options: Options, row: Row, now: Row): number {
  if (now.st === 'ended' && row.st !== 'ended') return row.used + row.below - row.max
  return !options.KeepHold && row.call === 'pending' && now.call !== 'pending' ? -row.max : 0
}
