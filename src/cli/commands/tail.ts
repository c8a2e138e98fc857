/** `tieline tail [session]`: events as they happen, one line each. */
import { fstatSync } from 'node:fs'
import type { StreamedEvent } from '../../wire/log.ts'
import type { TielineClient } from '../../client/client.ts'
import { TielineError } from '../../client/tieline-error.ts'
import { systemClock } from '../../runtime/kernel/system-clock.ts'
import { flagText, printError, printResult, type Command, type CommandInput } from '../command.ts'
import { readAwayMsMax, trackConnection } from '../reach/connection.ts'
import { withServer, type Reached } from '../reach/reach.ts'
import { renderEvent, trackNames } from '../show/event-lines.ts'

const sessionsNamedMax = 200

export const tail: Command = {
  name: 'tail',
  words: ['[session]'],
  help: 'Follows events as they happen, of one session or of all',
  flags: {
    after: {
      value: 'SEQ',
      help: 'begin after this event; 0 is the beginning of the log. By default with the newest ones',
    },
  },
  more: `
A connection that breaks is resumed where it stopped. With --json each line is an event with its seq, which
--after takes. Ctrl-C ends it.`,
  examples: ['tieline tail', 'tieline tail ses_01', 'tieline tail --after 0 --json | jq -c .event'],
  run: runTail,
}

async function runTail(input: CommandInput): Promise<number> {
  const { flags, out } = input
  const leaving = new AbortController()
  const release = input.onInterrupt?.(() => leaving.abort())
  const here = { ...input, signal: AbortSignal.any([input.signal, leaving.signal]) }
  const from = { after: flagText(flags['after']) ?? null }
  const names = trackNames()
  const probe = flags['json'] === true && isPipe(out) ? startProbe(out, here.signal) : null
  const print = (happened: StreamedEvent): void => {
    probe?.onPrinted()
    names.learn(happened.event)
    printResult(input, happened, renderEvent(happened, names))
  }
  try {
    await withServer(here, async (reached) => {
      const { sessions } = await reached.client.sessions.list({ limit: sessionsNamedMax })
      for (const { id, agentName } of sessions) names.add(id, agentName)
      from.after ??= await findNewest(reached.client, here.signal)
      await followEvents(here, reached, from, print)
    })
    return 0
  } catch (error) {
    if (here.signal.aborted && error === here.signal.reason) return 0
    throw error
  } finally {
    probe?.stop()
    release?.()
  }
}

const newestShown = 20

/** A little before the end of the log, so that there is something to see at once. */
async function findNewest(client: TielineClient, signal: AbortSignal): Promise<string | null> {
  try {
    const { upTo } = await client.flowEvents('last', { limit: 1 }, { signal })
    return String(Math.max(0, Number(upTo) - newestShown))
  } catch (error) {
    // Nothing was asked for yet, or an older server does not know what `last` is: then it begins now.
    if (error instanceof TielineError && error.status === 404) return null
    throw error
  }
}

function isPipe(out: CommandInput['out']): boolean {
  const { fd } = (out.raw ?? out) as { fd?: number }
  if (fd === undefined) return false
  const found = fstatSync(fd)
  return found.isFIFO() || found.isSocket()
}

const probeMsMin = 500
const probeMsMax = 60_000

/**
 * A reader that has left (`| head -1`) is noticed only when something is written, and nothing may happen for
 * hours. So a space is written after each event, and then ever more rarely: before an object of JSON it means
 * nothing. Plain text has no such character, so there the next event shows it.
 */
function startProbe(
  out: Pick<CommandInput['out'], 'write'>,
  signal: AbortSignal,
): { onPrinted(): void; stop(): void } {
  const over = new AbortController()
  let waitMs = probeMsMin
  let soon = new AbortController()
  const probe = async (): Promise<void> => {
    for (; !over.signal.aborted && !signal.aborted; waitMs = Math.min(waitMs * 2, probeMsMax)) {
      await systemClock.sleep(waitMs, AbortSignal.any([soon.signal, over.signal, signal])).then(
        () => out.write(' '),
        () => undefined,
      )
      if (!soon.signal.aborted) continue
      soon = new AbortController()
      waitMs = probeMsMin / 2
    }
  }
  void probe()
  return {
    // A burst of events restarts it only once.
    onPrinted: () => (waitMs > probeMsMin ? soon.abort() : undefined),
    stop: () => over.abort(),
  }
}

/** Returns when the user leaves, and throws when the server is gone; `from` keeps the position. */
async function followEvents(
  { words: [session], flags, err, signal }: CommandInput,
  { client, remote }: Reached,
  from: { after: string | null },
  print: (happened: StreamedEvent) => void,
): Promise<void> {
  const done = new AbortController()
  const connection = trackConnection(client.url, readAwayMsMax({ remote }), done.signal)
  const read = async (): Promise<void> => {
    const events = client.events({
      after: from.after,
      signal: AbortSignal.any([signal, done.signal]),
      ...(session === undefined ? {} : { sessions: [session] }),
      onConnection(state) {
        connection.onConnection(state)
        if (state.open) from.after ??= state.after
        else if (remote && flags['quiet'] !== true)
          printError(err, `the connection was lost (${state.why}); trying again`)
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
