/** Events about turns, their steps, and the questions that they ask a person. */
import { readRootEnd } from '../../../src/model/request-name.ts'
import { ensureSession, nameAgent, type Ledger } from './ledger.ts'
import type { Folds, Touch } from './moment.ts'
import { ensureTurn } from './turn-facts.ts'
import { countUsage } from './session-cost.ts'

export const turnFolds: Folds = {
  'turn.started'(ledger, event, moment) {
    if (event.turn === null) return
    const turn = ensureTurn(ledger, event.turn, event.session, moment)
    turn.startedAt ??= moment.at
    turn.deadline = event.deadline
    if (turn.endedAt === null) ensureSession(ledger, event.session, moment.at).liveTurns.add(turn.id)
  },
  'turn.cancelled'(ledger, event, moment) {
    if (event.turn !== null) ensureTurn(ledger, event.turn, event.session, moment).stopping = true
  },
  'turn.ended'(ledger, event, moment, touch) {
    if (event.turn === null) return
    const turn = ensureTurn(ledger, event.turn, event.session, moment)
    Object.assign(turn, {
      endedAt: moment.at,
      endedSeq: moment.seq,
      outcome: event.outcome,
      shown: readRootEnd(event, turn.isUse, []).outcome,
      error: event.error,
      hasEntry: event.entry !== null,
      entryTokens: event.entry === null ? 0 : event.entry.askedTokens + event.entry.answeredTokens,
    })
    const session = ensureSession(ledger, event.session, moment.at)
    session.liveTurns.delete(turn.id)
    if (session.liveTurns.size === 0) session.waitsFor.clear()
    session.turns += 1
    if (moment.isNew)
      session.resting = event.outcome === 'completed' || event.outcome === 'cancelled' ? 'idle' : 'error'
    for (const question of ledger.questions.values())
      if (question.turn === turn.id) forgetQuestion(ledger, question.id, touch)
    touch('sessions')
    touch('flows')
    touch('waits')
  },
  'step.ended'(ledger, event, moment) {
    if (event.usage === null || event.turn === null) return
    const turn = ensureTurn(ledger, event.turn, event.session, moment)
    const known = turn.usage.get(event.name) ?? { input: 0, output: 0, estimated: false }
    turn.usage.set(event.name, {
      input: known.input + event.usage.input,
      output: known.output + event.usage.output,
      estimated: known.estimated || event.usage.estimated,
    })
    countUsage(ledger, turn, event.usage, moment)
  },
  'question.asked'(ledger, event, { at }, touch) {
    const turn = event.turn === null ? undefined : ledger.turns.get(event.turn)
    if (
      ledger.answered.has(event.question) ||
      event.turn === null ||
      (turn !== undefined && turn.endedAt !== null)
    )
      return
    ledger.questions.set(event.question, {
      id: event.question,
      session: event.session,
      turn: event.turn,
      flow: event.flow,
      agent: nameAgent(ledger, event.agent),
      tool: event.tool,
      input: event.input,
      path: event.path.map((name) => nameAgent(ledger, name)),
      askedAt: at,
      deadline: event.deadline,
    })
    touch('questions')
  },
  'question.answered': (ledger, event, _moment, touch) => forgetQuestion(ledger, event.question, touch),
}

function forgetQuestion(ledger: Ledger, question: string, touch: Touch): void {
  ledger.answered.add(question)
  ledger.questions.delete(question)
  touch('questions')
}
