import type { SessionId, TurnId } from '../../model/id.ts'

/**
 * As a door has checked it: the user of this machine, one session (by its capability token, or by a name that
 * is believed), or one live turn of an agent that we drive.
 */
export type Who = { kind: 'user' } | { kind: 'session'; session: SessionId } | { kind: 'turn'; turn: TurnId }
