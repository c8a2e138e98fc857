import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listClientTools } from '../client-tools.ts'
import { ConfigFile } from '../config-keys.ts'
import { findReadyTools, readyToolsFile, type ReadyTools } from './ready-tools.ts'

const { tools, subagent } = ConfigFile.parse({})
const ready: ReadyTools = { settings: { tools, subagent }, list: listClientTools({ tools, subagent }) }
let directory = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tieline-ready-'))
  writeFileSync(join(directory, readyToolsFile), JSON.stringify(ready))
})
afterEach(() => rmSync(directory, { recursive: true }))

test('tools that the build described are those that a server with the same settings would list', () => {
  const usual = ConfigFile.parse({ agents: { coder: { model: 'x/y' } } })
  const expected: unknown = JSON.parse(JSON.stringify(listClientTools(usual)))
  expect(findReadyTools(usual, directory)).toEqual(expected)
})

test.each([
  ['a tool is disabled', { tools: { enable: ['read'] } }],
  ['a parameter has a default', { tools: { defaults: { sub_agent: { timeout: 5 } } } }],
  ['a parameter is fixed', { tools: { locked: { sub_agent: { agent_name: 'coder' } } } }],
  ['subagent has an agent', { subagent: { agent: 'coder' } }],
  ['subagent takes other artifacts', { subagent: { artifactKinds: ['note'] } }],
])('they are described anew where %s', (_name, settings) => {
  expect(findReadyTools(ConfigFile.parse(settings), directory)).toBeNull()
})

test('they are described anew where the build left none, or half of them', () => {
  const path = join(directory, readyToolsFile)
  writeFileSync(path, JSON.stringify(ready).slice(0, 500))
  expect(findReadyTools({ tools, subagent }, directory)).toBeNull()
  rmSync(path)
  expect(findReadyTools({ tools, subagent }, directory)).toBeNull()
})
