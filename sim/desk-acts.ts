/** What people and programs ask for at the desk in a plan, besides runs and mail. */
import { z } from 'zod'

export const deskDeeds = [
  'create',
  'fork',
  'archive',
  'rename',
  'adopt',
  'cancel',
  'say',
  'insist',
  'shout',
  'look',
  'draft',
  'revise',
  'release',
  'releaseStale',
  'decline',
  'steal',
  'take',
  'hire',
  'dismiss',
  'answer',
  'see',
] as const

export const DeskAct = z.strictObject({
  at: z.number().int().min(0),
  node: z.number().int(),
  do: z.enum(deskDeeds),
  /** Of whom or what, and which: what they mean depends on the deed. */
  a: z.number().int().min(0),
  b: z.number().int().min(0),
})
export type DeskAct = z.infer<typeof DeskAct>
