/** All commands, in the order of the help. */
import { calls } from './calls.ts'
import type { Command } from './command.ts'
import { demo } from './demo.ts'
import { explain } from './explain.ts'
import { exportCommand } from './export.ts'
import { flow } from './flow.ts'
import { importCommand } from './import.ts'
import { replay } from './replay.ts'
import { run } from './run.ts'
import { sessions } from './sessions.ts'

export const commands: readonly Command[] = [demo, run, calls, sessions, flow, replay, explain, exportCommand, importCommand]
