/** What stands below every run: the short id of its flow, and where to look at it. */
import type { Outcome } from '../../model/event.ts'
import { isFailure } from '../../model/request-name.ts'
import type { TielineClient } from '../../client/client.ts'
import { isSilent, type CommandInput } from '../command.ts'
import { shortId } from '../show/short-id.ts'

type Ran = { flow: string | null; outcome: Outcome }
type Place = { client: () => TielineClient; isOwn: () => boolean }

/** A server that ends with this command has no page afterwards. */
export const describeRun = (flow: string, url: string | null): string =>
  `flow ${shortId(flow)}  ${url === null ? `tieline flow ${shortId(flow)}` : `${url}/#/flows/${flow}`}`

/** The person at this terminal has seen how it ended. */
export async function endRun(
  input: Pick<CommandInput, 'flags' | 'err'>,
  { client, isOwn }: Place,
  { flow, outcome }: Ran,
): Promise<void> {
  if (flow === null) return
  if (isFailure(outcome) && input.err.isTTY === true)
    await client()
      .seeFlow(flow)
      .catch(() => undefined)
  if (!isSilent(input)) input.err.write(`${describeRun(flow, isOwn() ? null : client().url)}\n`)
}
