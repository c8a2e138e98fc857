/**
 * The wires that the fake model speaks: each reads a request into one shape and words one answer, streamed
 * and whole.
 */
import { anthropic } from './fake-wires/anthropic.ts'
import { google } from './fake-wires/google.ts'
import { chat, responses } from './fake-wires/openai.ts'

export const wires = { chat, responses, anthropic, google } as const

export type WireName = keyof typeof wires
