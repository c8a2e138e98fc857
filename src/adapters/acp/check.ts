/** Starts an agent as a call would, and asks it who it is over ACP. Nothing is sent to a model. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProcess } from './agent-process.ts'
import { findPreset, findProgram, whyUnavailable, type Surroundings, type Unavailable } from './program.ts'
import { AgentUnavailable } from './unavailable.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import type { Agent } from '../../model/agent.ts'

/** The first start of some takes long on a slow machine. */
const answerMsMax = 60_000

/** Null where it answers; otherwise why it cannot be called, and what to do. */
export async function checkByStarting(
  agent: Agent,
  around: Surroundings,
  version: string,
): Promise<Unavailable | null> {
  const known = whyUnavailable(agent, around)
  const program = findProgram(agent, around)
  if (known !== null || 'why' in program) return known
  const { greet } = await import('./conversation.ts')
  const cwd = await mkdtemp(join(tmpdir(), 'tieline-check-'))
  try {
    const process = await startProcess({ ...program, cwd, sandboxed: false }, () => undefined)
    const { signal } = new AbortController()
    await greet({ process, preset: findPreset(agent), clock: systemClock, version, signal }, answerMsMax)
    return null
  } catch (fault) {
    if (fault instanceof AgentUnavailable) return fault.unavailable
    return { why: `it could not be started (${String(fault)})`, cure: 'start it by hand and look' }
  } finally {
    await rm(cwd, { recursive: true, force: true })
  }
}
