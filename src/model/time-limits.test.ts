import { expect, test } from 'vitest'
import { Agent } from './agent.ts'
import { Limits } from './limits.ts'
import {
  callMsDefault,
  callMsMax,
  clientMsMax,
  messageMsMax,
  sentTurnMs,
  silenceMsMax,
  turnMsMax,
} from './time-limits.ts'

const limits = Limits.parse({
  callTimeoutMsMax: 1,
  callAgentTimeoutMs: 2,
  subagentTimeoutMs: 3,
  subAgentTimeoutMs: 4,
  inactivityMs: 5,
  turnMsMax: 600,
  drivenTimeoutMs: 700,
  drivenTimeoutMsMax: 8000,
  drivenInactivityMs: 9,
})
const own = Agent.parse({ name: 'own' })
const driven = Agent.parse({ name: 'driven', driver: 'acp' })

test('only sub_agent gives a driven agent hours; other tools keep their limit', () => {
  expect(callMsMax('sub_agent', driven, limits)).toBe(8000)
  expect(callMsMax('sub_agent', driven, { ...limits, callTimeoutMsMax: 9000 })).toBe(9000)
  expect(callMsMax('sub_agent', own, limits)).toBe(1)
  expect(callMsMax('sub_agent', undefined, limits)).toBe(1)
  expect(callMsMax('subagent', driven, limits)).toBe(1)
  expect(callMsMax('call_agent', driven, limits)).toBe(1)
})

test('each tool has its own default, and sub_agent one more for a driven agent', () => {
  expect(callMsDefault('sub_agent', driven, limits)).toBe(700)
  expect(callMsDefault('sub_agent', own, limits)).toBe(4)
  expect(callMsDefault('sub_agent', undefined, limits)).toBe(4)
  expect(callMsDefault('subagent', driven, limits)).toBe(3)
  expect(callMsDefault('call_agent', driven, limits)).toBe(2)
})

test('a turn of a driven agent may take its own time, and one that a message opened its usual time', () => {
  const agents = [driven, own, undefined]
  expect(agents.map((agent) => turnMsMax(agent, limits))).toEqual([8000, 600, 600])
  expect(agents.map((agent) => messageMsMax(agent, limits))).toEqual([700, 600, 600])
})

test('a sender names the time of the turn within what any turn may take', () => {
  expect(sentTurnMs(undefined, driven, limits)).toBe(700)
  expect(sentTurnMs(9000, driven, limits)).toBe(8000)
  expect(sentTurnMs(50, driven, limits)).toBe(50)
  expect(sentTurnMs(undefined, own, limits)).toBe(600)
  expect(sentTurnMs(9000, own, limits)).toBe(600)
  expect(sentTurnMs(0, undefined, limits)).toBe(0)
})

test('a driven agent may be silent for its own time', () => {
  expect(silenceMsMax(driven, limits)).toBe(9)
  expect(silenceMsMax(own, limits)).toBe(5)
})

test('the turn of a client lasts longer than any call that it can wait for', () => {
  expect(clientMsMax([], limits)).toBe(600)
  expect(clientMsMax([own, own], limits)).toBe(600)
  expect(clientMsMax([own, driven], limits)).toBe(12_000)
  expect(clientMsMax([driven], { ...limits, turnMsMax: 20_000 })).toBe(20_000)
})
