/** All commands, in the order of the help. */
import { accept } from './commands/accept.ts'
import { answer } from './commands/answer.ts'
import { archive } from './commands/archive.ts'
import { agents } from './commands/agents.ts'
import { call } from './commands/call.ts'
import { calls } from './commands/calls.ts'
import { cancel } from './commands/cancel.ts'
import { chat } from './commands/chat.ts'
import { check } from './commands/check.ts'
import type { Command } from './command.ts'
import { demo } from './commands/demo.ts'
import { doctor } from './commands/doctor.ts'
import { explain } from './commands/explain.ts'
import { exportCommand } from './commands/export.ts'
import { flow } from './commands/flow.ts'
import { flows } from './commands/flows.ts'
import { importCommand } from './commands/import.ts'
import { inbox } from './commands/inbox.ts'
import { init } from './commands/init.ts'
import { mcp } from './commands/mcp.ts'
import { needs } from './commands/needs.ts'
import { migrate } from './commands/migrate.ts'
import { nodes } from './commands/nodes.ts'
import { quiet } from './commands/quiet.ts'
import { rebuild } from './commands/rebuild.ts'
import { replay } from './commands/replay.ts'
import { run } from './commands/run.ts'
import { send } from './commands/send.ts'
import { serve } from './commands/serve.ts'
import { sessions } from './commands/sessions.ts'
import { steer } from './commands/steer.ts'
import { stop } from './commands/stop.ts'
import { tail } from './commands/tail.ts'
import { trust } from './commands/trust.ts'

import { down } from './commands/down.ts'
import { up } from './commands/up.ts'

export const commands: readonly Command[] = [
  demo,
  init,
  up,
  down,
  trust,
  doctor,
  serve,
  stop,
  run,
  chat,
  call,
  needs,
  answer,
  send,
  inbox,
  accept,
  quiet,
  cancel,
  steer,
  tail,
  agents,
  sessions,
  flows,
  calls,
  nodes,
  flow,
  explain,
  replay,
  exportCommand,
  importCommand,
  check,
  rebuild,
  archive,
  migrate,
  mcp,
]
