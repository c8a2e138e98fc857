/** Frames that a connected program sends, cut to what the server takes: a larger frame would be refused. */
import { hostDeltaMax, hostErrorMax, hostFrameBytesMax, hostTitleMax } from '../model/limits.ts'
import { headUnits } from '../model/text.ts'
import type { HostSession } from './host.ts'
import { describeError } from './tieline-error.ts'

/** What a program's `run` returns. */
export type RunAnswer =
  | string
  | { output: string; usage?: { input: number; output: number; costUsd?: number } }

/** Room for the rest of the frame, such as the turn's id and the error. */
const restBytesMax = 64 * 1024

const countBytes = (frame: object): number => new TextEncoder().encode(JSON.stringify(frame)).length
export const fits = (frame: object): boolean => countBytes(frame) <= hostFrameBytesMax

export const sessionFrame = ({ id, title, cwd, parent, as, spare }: HostSession): object => ({
  id,
  title: headUnits(title ?? '', hostTitleMax),
  cwd,
  ...(parent == null ? {} : { parent }),
  ...(as == null ? {} : { as }),
  ...(spare === true ? { spare } : {}),
})

/** A text in as many pieces as it needs. */
export function deltaFrames(turn: string, text: string): object[] {
  const frames: object[] = []
  for (let rest = text; rest !== '';) {
    const piece = headUnits(rest, hostDeltaMax)
    frames.push({ type: 'delta', turn, text: piece })
    rest = rest.slice(piece.length)
  }
  return frames
}

/** An output that does not fit is a failure that says so, with as much of the output as fits. */
export function answerFrame(turn: string, answer: RunAnswer): object {
  const { output, usage } = typeof answer === 'string' ? { output: answer, usage: undefined } : answer
  const frame = {
    type: 'answer',
    turn,
    output,
    ...(usage === undefined
      ? {}
      : {
          usage: {
            input: countWhole(usage.input),
            output: countWhole(usage.output),
            ...(usage.costUsd === undefined ? {} : { costUsd: usage.costUsd }),
          },
        }),
  }
  const bytes = countBytes(frame)
  if (bytes <= hostFrameBytesMax) return frame
  return {
    ...frame,
    output: headUnits(output, Math.floor((hostFrameBytesMax - restBytesMax) / 6)),
    error:
      `too_large: the output has ${bytes} bytes as JSON; at most ${hostFrameBytesMax} are taken. ` +
      'Put it into a file and answer with its path.',
  }
}

export const failureFrame = (turn: string, error: unknown): object => ({
  type: 'answer',
  turn,
  output: '',
  error: headUnits(describeError(error), hostErrorMax),
})

export const unopenedFrame = (session: string, why: string): object => ({
  type: 'unopened',
  session,
  why: headUnits(why, hostErrorMax),
})

const countWhole = (tokens: number): number => (Number.isFinite(tokens) && tokens > 0 ? Math.ceil(tokens) : 0)
