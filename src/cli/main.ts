/**
 * Where the program begins. What it loads is compiled once and kept, so this comes before everything else.
 */
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findReadyHelp } from './ready-help.ts'

const args = process.argv.slice(2)
const help = findReadyHelp(args, import.meta.dirname)
if (help !== null) {
  const { stdout } = await import('./show/terminal.ts')
  stdout.write(help)
} else {
  // In a directory of the user's own; where it cannot be written, it is compiled at each start.
  enableCompileCache(join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tieline', 'compiled'))
  const { main } = await import('./command-line.ts')
  process.exitCode = await main(args)
}
