/** What the checker hears of the drivers of one node. */
import type { NodeId } from '../src/model/id.ts'
import type { Checker } from './checker.ts'
import { count } from './count.ts'
import type { Observer } from './driver.ts'
import { describeFault, isInjected } from './host.ts'

/** What a turn that was stopped, lost or cut off hears; anything else is an answer that nobody should get. */
const expected: ReadonlySet<string> = new Set(['Fenced', 'Stopped', 'BudgetExhausted', 'AbortError'])
const isExpected = (fault: unknown): boolean =>
  isInjected(fault) || (fault instanceof Error && expected.has(fault.name))

export const observe = (checker: Checker, node: NodeId, counts: Map<string, number>): Observer => ({
  count: (what) => count(counts, what),
  begins: (turn, signal) => checker.oracle.beginTurn(turn, node, signal),
  asks: (turn, act, task) => checker.oracle.askCall(turn, { act, task }),
  result: (call, outcome, text) => checker.checkAnswered(call, outcome, text),
  thinks: (turn, activation) =>
    checker.note(checker.consult((oracle) => oracle.checkThinking(turn, node, activation))),
  thought: (...said) => checker.oracle.think(...said),
  breaks(turn, tool, fault) {
    if (isExpected(fault)) return
    checker.fail(`O1: ${tool} of ${turn} was answered with a fault: ${describeFault(fault)}`)
  },
  makeNonce: (turn) => checker.oracle.answers.makeNonce(turn),
  answers: (turn, output) => checker.oracle.answers.give(turn, output),
})
