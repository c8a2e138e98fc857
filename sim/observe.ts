/** What the checker hears of the drivers of one node. */
import type { NodeId } from '../src/model/id.ts'
import type { Checker } from './checker.ts'
import { count } from './count.ts'
import type { Observer } from './driver.ts'

export const observe = (checker: Checker, node: NodeId, counts: Map<string, number>): Observer => ({
  count: (what) => count(counts, what),
  asks: (turn, act, task) => checker.oracle.askCall(turn, { act, task }),
  result: (call, outcome, text) => checker.checkAnswered(call, outcome, text),
  thinks: (turn) => checker.note(checker.consult((oracle) => oracle.checkThinking(turn, node))),
  thought: (turn, tokens, over) => checker.oracle.think(turn, tokens, over),
  makeNonce: (turn) => checker.oracle.answers.makeNonce(turn),
  answers: (turn, output) => checker.oracle.answers.give(turn, output),
})
