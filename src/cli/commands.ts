/** All commands, in the order of the help. */
import type { Command } from './command.ts'
import { demo } from './demo.ts'
import { run } from './run.ts'

export const commands: readonly Command[] = [demo, run]
