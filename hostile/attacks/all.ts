/** All families of attacks. */
import type { Family } from '../attack.ts'
import { json } from './json.ts'
import { letta } from './letta.ts'
import { mail } from './mail.ts'
import { mcp } from './mcp.ts'
import { modelAnswers } from './answers.ts'
import { programs } from './programs.ts'
import { schemas } from './schemas.ts'
import { slow } from './slow.ts'
import { sockets } from './sockets.ts'
import { texts } from './texts.ts'

export const families: readonly Family[] = [
  json,
  sockets,
  mcp,
  letta,
  schemas,
  texts,
  modelAnswers,
  mail,
  programs,
  slow,
]
