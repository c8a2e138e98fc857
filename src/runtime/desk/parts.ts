/** What the desk is built from. */
import { inProject } from '../kernel/projects-port.ts'
import type { AgentBook } from '../sessions/agent-book.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Runtime } from '../sessions/runtime.ts'
import type { Tool } from '../kernel/ports.ts'
import type { ExportFile } from '../look/export-log.ts'
import type { Asker } from './asker.ts'

export type DeskParts = {
  runtime: Runtime
  book: AgentBook
  /** All that an agent can be given. */
  toolNames: readonly string[]
  /** Providers whose models can be used, and models that need none. */
  providers: readonly string[]
  builtIn: readonly string[]
  /** Tools that clients outside may use. */
  doorTools: readonly Tool[]
  /** A recorded run as a file: of an id, or everything. */
  exportLog(id: string | null, bytesMax: number): Promise<ExportFile | Refusal>
  /** Where sessions work that name no directory. */
  cwd: string
}

/** The same, as the project of a directory has it. */
export function partsIn(parts: DeskParts, cwd: string): DeskParts {
  const runtime = inProject(parts.runtime, cwd)
  const { projects } = parts.runtime
  if (projects === undefined) return parts
  const offered = new Set(parts.doorTools.map(({ name }) => name))
  return {
    ...parts,
    runtime,
    doorTools: projects.known(cwd).standardTools.filter(({ name }) => offered.has(name)),
  }
}

/** Where the asker works, which decides whose agents it means. */
export async function findDirectory({ runtime, cwd }: DeskParts, { who, client }: Asker): Promise<string> {
  if (who.kind === 'user') return client?.cwd ?? cwd
  if (who.kind === 'turn') return runtime.running.get(who.turn)?.session.cwd ?? cwd
  return (await runtime.store.session(who.session))?.cwd ?? cwd
}
