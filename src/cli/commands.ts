/** All commands, in the order of the help. */
import { accept } from './accept.ts'
import { call } from './call.ts'
import { calls } from './calls.ts'
import { cancel } from './cancel.ts'
import { chat } from './chat.ts'
import { check } from './check.ts'
import type { Command } from './command.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { explain } from './explain.ts'
import { exportCommand } from './export.ts'
import { flow } from './flow.ts'
import { importCommand } from './import.ts'
import { inbox } from './inbox.ts'
import { init } from './init.ts'
import { mcp } from './mcp.ts'
import { rebuild } from './rebuild.ts'
import { replay } from './replay.ts'
import { run } from './run.ts'
import { send } from './send.ts'
import { serve } from './serve.ts'
import { sessions } from './sessions.ts'
import { stop } from './stop.ts'
import { tail } from './tail.ts'

export const commands: readonly Command[] = [
  demo,
  init,
  doctor,
  serve,
  stop,
  run,
  chat,
  call,
  send,
  inbox,
  accept,
  cancel,
  tail,
  sessions,
  calls,
  flow,
  explain,
  replay,
  exportCommand,
  importCommand,
  check,
  rebuild,
  mcp,
]
