/** `tieline tail [session]`: events as they happen, one line each. */
import { fstatSync } from 'node:fs'
import type { StreamedEvent } from '../../wire/log.ts'
import type { TielineClient } from '../../client/client.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, printJson, type Command, type CommandInput } from '../command.ts'
import type { Reached } from '../reach/reach.ts'

export const tail: Command = {
  name: 'tail',
  words: ['[session]'],
  help: 'Follows events as they happen, of one session or of all',
  flags: {
    after: {
      value: 'SEQ',
      help: 'begin after this event; 0 is the beginning of the log. Otherwise from now on',
    },
  },
  more: [
    'A connection that breaks is taken up again where it stopped. With --json each line is an event with its seq, which --after takes. Ctrl-C ends it.',
    '',
    'Examples:',
    '  tieline tail',
    '  tieline tail ses_01',
    '  tieline tail --after 0 --json | jq -c .event',
  ],
  run: runTail,
}

async function runTail(input: CommandInput): Promise<number> {
  const [{ withServer }, { eventLine, newNames }] = await Promise.all([
    import('../reach/reach.ts'),
    import('../show/event-lines.ts'),
  ])
  const leaving = new AbortController()
  const release = input.onInterrupt?.(() => leaving.abort())
  const here = { ...input, signal: AbortSignal.any([input.signal, leaving.signal]) }
  const from = { after: flagText(input.flags['after']) ?? null }
  const names = newNames()
  const knocking = input.flags['json'] === true && isPipe(input.out) ? knocker(input.out, here.signal) : null
  const print = (happened: StreamedEvent): void => {
    knocking?.printed()
    names.learn(happened.event)
    if (input.flags['json'] === true) printJson(input.out, happened)
    else input.out.write(`${eventLine(happened, names)}\n`)
  }
  try {
    await withServer(here, async (reached) => {
      for (const [session, agent] of await agentsOf(reached.client)) names.add(session, agent)
      await followed(here, reached, from, print)
    })
    return 0
  } catch (error) {
    if (here.signal.aborted && error === here.signal.reason) return 0
    throw error
  } finally {
    knocking?.stop()
    release?.()
  }
}

function isPipe(out: CommandInput['out']): boolean {
  const { fd } = (out.raw ?? out) as { fd?: number }
  if (fd === undefined) return false
  const found = fstatSync(fd)
  return found.isFIFO() || found.isSocket()
}

const knockMsMin = 500
const knockMsMax = 60_000

/**
 * A reader that has left (`| head -1`) is noticed only when something is written, and nothing may happen for
 * hours. So, after each event and then ever more rarely, a space is written:
 * before an object of JSON it means nothing, and it makes no line. Text has nothing of the kind, so there the
 * next event shows it.
 */
function knocker(
  out: Pick<CommandInput['out'], 'write'>,
  signal: AbortSignal,
): { printed(): void; stop(): void } {
  const over = new AbortController()
  let waitMs = knockMsMin
  let soon = new AbortController()
  const knock = async (): Promise<void> => {
    for (; !over.signal.aborted && !signal.aborted; waitMs = Math.min(waitMs * 2, knockMsMax)) {
      await systemClock.sleep(waitMs, AbortSignal.any([soon.signal, over.signal, signal])).then(
        () => out.write(' '),
        () => undefined,
      )
      if (!soon.signal.aborted) continue
      soon = new AbortController()
      waitMs = knockMsMin / 2
    }
  }
  void knock()
  return {
    // Many events in a row do not begin it anew each.
    printed: () => (waitMs > knockMsMin ? soon.abort() : undefined),
    stop: () => over.abort(),
  }
}

/** Until the user leaves, or the server is gone for good; `from` keeps how far it came. */
async function followed(
  { words: [session], flags, err, signal }: CommandInput,
  reached: Reached,
  from: { after: string | null },
  print: (happened: StreamedEvent) => void,
): Promise<void> {
  const { readAwayMsMax, connectionTo } = await import('../reach/connection.ts')
  const done = new AbortController()
  const connection = connectionTo(reached.client.url, readAwayMsMax(reached), done.signal)
  const read = async (): Promise<void> => {
    const ask = {
      after: from.after,
      signal: AbortSignal.any([signal, done.signal]),
      ...(session === undefined ? {} : { sessions: [session] }),
    }
    const events = reached.client.events({
      ...ask,
      onConnection(state) {
        connection.changed(state)
        if (state.open) from.after ??= state.after
        else if (reached.remote && flags['quiet'] !== true)
          err.write(`tieline: the connection was lost (${state.why}); trying again\n`)
      },
    })
    for await (const happened of events) {
      from.after = happened.seq
      print(happened)
    }
  }
  try {
    await Promise.race([read(), connection.lost])
  } finally {
    done.abort()
  }
}

const namedMax = 200

/** Whose sessions they are, as far as that can be known beforehand. */
const agentsOf = async (client: TielineClient): Promise<(readonly [string, string])[]> =>
  (await client.sessions.list({ limit: namedMax })).sessions.map(
    ({ id, agentName }) => [id, agentName] as const,
  )
