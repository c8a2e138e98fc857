/** What the desk is built from. */
import type { AgentBook } from '../sessions/agent-book.ts'
import type { Runtime } from '../sessions/runtime.ts'
import type { Tool } from '../kernel/ports.ts'
import type { ExportHeader } from '../look/export-log.ts'

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
  exportLog(id: string | null): Promise<{ header: ExportHeader; text: string }>
  /** Where sessions work that name no directory. */
  cwd: string
}
