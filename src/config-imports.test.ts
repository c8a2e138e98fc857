import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from './config.ts'

function project(files: Record<string, string>): string {
  const cwd = mkdtempSync(join(tmpdir(), 'tieline-imports-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  return cwd
}

const config = '[import]\nagents = [".claude/agents", ".opencode/agent"]\n'
const load = async (cwd: string) =>
  (await loadConfig({ file: join(cwd, 'tieline.toml'), cwd, env: {}, home: cwd })).config.agents

test('agents that files of Claude Code and OpenCode describe can be called, each run by its own program', async () => {
  const agents = await load(
    project({
      'tieline.toml': config,
      '.claude/agents/security.md': `---
name: security-reviewer
description: "Looks for holes"
tools: Read, Grep, Glob
---
You look for holes.
`,
      '.opencode/agent/docs.md':
        '---\ndescription: Writes documents\nmode: subagent\ntools:\n  bash: false\n---\nYou write documents.\n',
      '.opencode/agent/plan.md':
        '---\ndescription: Plans\npermission:\n  edit: deny\n  bash: deny\n---\nYou plan.\n',
    }),
  )
  const shown = agents.map(({ name, driver, preset, description, prompt, permissions }) =>
    [name, driver, preset, description, prompt, permissions].join(' | '),
  )
  expect(shown.sort()).toEqual([
    'docs | acp | opencode | Writes documents | You write documents. | ask',
    'plan | acp | opencode | Plans | You plan. | readonly',
    'security-reviewer | acp | claude | Looks for holes | You look for holes. | readonly',
  ])
})

test('what the configuration says itself counts, and a file that describes no agent is passed over', async () => {
  const agents = await load(
    project({
      'tieline.toml': `${config}\n[agents.docs]\ndriver = "host"\n`,
      '.opencode/agent/docs.md': '---\ndescription: Writes\n---\nYou write.\n',
      '.claude/agents/empty.md': '---\nname: empty\n---\n',
      '.claude/agents/off.md': '---\nname: off\ndisable: true\n---\nYou are off.\n',
      '.claude/agents/notes.txt': 'no agent',
    }),
  )
  expect(agents.map(({ name, driver }) => [name, driver])).toEqual([['docs', 'host']])
})
