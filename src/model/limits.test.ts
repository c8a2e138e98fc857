import { expect, test } from 'vitest'
import * as limits from './limits.ts'

test('R11: every bound has its default', () => {
  expect(limits.limitsDefault).toEqual({
    depthMax: 5,
    callsPerCallerMax: 10,
    queuedPerSessionMax: 100,
    descendantsPerFlowMax: 100,
    agentsMadeMax: 1000,
    callsPerMinute: 120,
    messagesPerMinute: 20,
    messageAgeSeconds: 3600,
    callTimeoutMsMax: 300_000,
    callAgentTimeoutMs: 30_000,
    subagentTimeoutMs: 120_000,
    subAgentTimeoutMs: 300_000,
    inactivityMs: 900_000,
    turnMsMax: 3_600_000,
    drivenTimeoutMs: 1_800_000,
    drivenTimeoutMsMax: 14_400_000,
    drivenInactivityMs: 900_000,
    contextTokens: 4000,
    resultShownTokens: 2500,
    taskBytesMax: 102_400,
    resultBytesMax: 1_048_576,
    archiveAfterHours: 24,
  })
})

test('R11: bounds that nobody configures', () => {
  const { Limits: _schema, BoundBy: _words, limitsDefault: _defaults, ...fixed } = limits
  expect(fixed).toEqual({
    agentTitleMax: 200,
    agentDescriptionMax: 2000,
    agentToolsMax: 200,
    agentPromptBytesMax: 32_768,
    pageUnitsMax: 524_288,
    sessionTurnsMax: 10_000,
    historyTokensMax: 32_000,
    inboxMax: 1000,
    noticesKeptMax: 100,
    noticesShownMax: 10,
    noticePointsMax: 2000,
    iterationsDefault: 16,
    iterationsMax: 64,
    subagentIterationsDefault: 8,
    subagentIterationsMax: 32,
    subagentDepthMax: 1,
    stopGraceMs: 2000,
    hostFrameBytesMax: 2_097_152,
    answerUnitsMax: 2_000_000,
    errorUnitsMax: 20_000,
    hostDeltaMax: 65_536,
    hostErrorMax: 10_000,
    hostTitleMax: 500,
    hostSessionsPerHelloMax: 1000,
    allowedToolsMax: 500,
    keywordsMax: 100,
    keywordUnitsMax: 200,
    outputSchemaBounds: { bytesMax: 65_536, depthMax: 64 },
    waitSecondsDefault: 50,
    waitSecondsMax: 55,
  })
  expect(limits.BoundBy.options).toEqual(['request', 'default', 'callee', 'ceiling', 'caller'])
})

test('a bound is a whole number that is not below zero, and depth at most 64', () => {
  const takes = (given: object): boolean => limits.Limits.safeParse(given).success
  expect(takes({ depthMax: 64, flowTokensMax: 0, flowUsdMax: 0.5, archiveAfterHours: 0.5 })).toBe(true)
  expect(takes({ callsPerCallerMax: 0, flowTokensMax: 9, flowUsdMax: 9 })).toBe(true)
  for (const wrong of [
    { depthMax: 65 },
    { depthMax: -1 },
    { callsPerCallerMax: 1.5 },
    { callsPerMinute: -1 },
    { flowTokensMax: 0.5 },
    { flowUsdMax: -1 },
    { archiveAfterHours: -1 },
    { unknown: 1 },
  ])
    expect([wrong, takes(wrong)]).toEqual([wrong, false])
})
