/** Calls: ask an agent and wait for its answer; what was called, what a request caused, and who waits for whom. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { isRefusal, type Refusal } from '../model/refusal.ts'
import type { Desk } from '../runtime/desk/desk.ts'
import { nextRound } from '../runtime/kernel/next-round.ts'
import type { ExportFile } from '../runtime/look/export-log.ts'
import {
  CallAnswer,
  CallRecord,
  Calls,
  CallsPage,
  CallsQuery,
  NewCall,
  NewWord,
  Steered,
} from '../wire/calls.ts'
import { Explanation } from '../wire/explain.ts'
import { ExportedLog, ExportQuery, Flow, FlowEvents, FlowEventsQuery, Waits } from '../wire/log.ts'
import { FlowSeen, Flows, FlowsQuery } from '../wire/flows.ts'
import { Needs } from '../wire/needs.ts'
import { IdPath } from '../wire/scalars.ts'
import { defineRoutes, say, type App, type Deps } from './route.ts'
import { wireNo } from './wire-error.ts'

export function callRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'calls')
  route(
    'POST',
    '/api/calls',
    {
      summary: 'Call an agent',
      description:
        'Blocks until the call has ended, whatever its outcome; a client that disconnects has cancelled ' +
        "it. A call that was not allowed is an error with the refusal's status, and is recorded too.",
      body: NewCall,
      answers: { 200: CallAnswer, 202: CallAnswer },
      status: (_answer, body) => (body.background === true ? 202 : 200),
      whenStopping: 'workGoesOn',
    },
    ({ desk, body }) => desk.calls.open(body),
  )
  route(
    'GET',
    '/api/calls',
    { summary: 'Calls, newest first', query: CallsQuery, answers: { 200: Calls } },
    ({ desk, query }) => desk.calls.list(query),
  )
  route(
    'GET',
    '/api/sessions/:id/calls',
    {
      summary: 'Calls of a session, newest first',
      params: IdPath,
      query: CallsPage,
      answers: { 200: Calls },
    },
    ({ desk, params, query }) => desk.calls.list({ ...query, session: params.id }),
  )
  route(
    'GET',
    '/api/calls/:id',
    { summary: 'The record of a call', params: IdPath, answers: { 200: CallRecord } },
    ({ desk, params }) => desk.calls.get(params.id),
  )
  route(
    'POST',
    '/api/calls/:id/steer',
    {
      summary: 'Say something to a running callee',
      description: 'It goes on with that in mind. For the caller of that call, those above it, and the user.',
      params: IdPath,
      body: NewWord,
      answers: { 200: Steered },
    },
    ({ desk, params, body }) => desk.calls.steer(params.id, body.message),
  )
  flowRoutes(app, deps)
  needRoutes(app, deps)
}

const noFlow = (id: string) =>
  wireNo(
    'not_found',
    `There is no flow "${id}". A message's answer and a call's record name theirs, and /api/flows lists them.`,
  )

type AskedFlow = { desk: Desk; params: { id: string }; reply: FastifyReply }

/** By its id, by a part of it, or by `last`. */
async function withFlow<T extends object>(
  { desk, params: { id: given }, reply }: AskedFlow,
  read: (id: string) => Promise<T | Refusal | null>,
): Promise<T | Refusal | null> {
  const found = await desk.log.findFlow(given)
  if (found !== null && isRefusal(found)) return found
  const value = found === null ? null : await read(found.id)
  if (value === null) say(reply, noFlow(given))
  return value
}

function flowRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'calls')
  const params = IdPath
  route(
    'GET',
    '/api/flows/:id',
    {
      summary: 'Everything that one request caused',
      description:
        'Where its calls have more than 512 KiB of texts, outputs are previews (`truncated`) and inputs are ' +
        'null from there on; the record of each call has them whole.',
      params,
      answers: { 200: Flow },
    },
    (asked) => withFlow(asked, (id) => asked.desk.log.flow(id)),
  )
  route(
    'GET',
    '/api/flows/:id/events',
    {
      summary: 'The events of one request, oldest first',
      description:
        'Of all its turns, in the shape of the event stream. Also of one that is long over: nothing has ' +
        'to be read from the beginning of the log.',
      params,
      query: FlowEventsQuery,
      answers: { 200: FlowEvents },
    },
    (asked) => withFlow(asked, (id) => asked.desk.log.flowEvents(id, asked.query)),
  )
  route(
    'GET',
    '/api/explain/:id',
    {
      summary: 'Why a call, a session or a flow stands still, or ended as it did',
      description:
        'One sentence for each root, then who waits for whom or what (a call, a queue, a person, a program that ' +
        'is not connected, tokens), mail that nobody took, ends without an answer, and refusals with their ' +
        'reasons. `last` is the newest flow.',
      params,
      answers: { 200: Explanation },
    },
    (asked) => asked.desk.log.explain(asked.params.id),
  )
  route(
    'GET',
    '/api/export',
    {
      summary: 'A recorded run as a file that replays elsewhere, without secrets',
      query: ExportQuery,
      answers: { 200: ExportedLog },
    },
    async ({ desk, query, reply }) => {
      const file = await desk.log.export(query.id ?? null)
      if (isRefusal(file)) return file
      void reply.type('application/json; charset=utf-8').send(Readable.from(exportedParts(file)))
      return null
    },
  )
  route('GET', '/api/waits', { summary: 'Who waits for whom now', answers: { 200: Waits } }, (asked) =>
    asked.desk.log.waits(),
  )
}

/** Requests in a list, and what waits for a person. */
function needRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'calls')
  route(
    'POST',
    '/api/flows/:id/seen',
    {
      summary: 'Say that a person has seen how a request ended',
      description: 'It no longer stands in /api/needs. Saying it again changes nothing.',
      params: IdPath,
      answers: { 200: FlowSeen },
    },
    (asked) => withFlow(asked, (id) => asked.desk.log.see(id)),
  )
  route(
    'GET',
    '/api/flows',
    {
      summary: 'Requests, newest first',
      description:
        'Each with its task, how it ended for the one who asked, what it waits for now, and what it has used. ' +
        'What a client only looked up is left out.',
      query: FlowsQuery,
      answers: { 200: Flows },
    },
    ({ desk, query }) => desk.log.flows(query),
  )
  route(
    'GET',
    '/api/needs',
    {
      summary: 'Everything that waits for a person, newest first',
      description:
        'Permission questions, drafts of agents, mail for the user, failed requests of the last seven days that ' +
        'nobody has seen, and projects that wait for trust.',
      answers: { 200: Needs },
    },
    ({ desk }) => desk.log.needs(),
  )
}

const partUnits = 64 * 1024

/** The answer as text, in slices: written as one, a long export would keep everybody else waiting. */
async function* exportedParts({ header, lines }: ExportFile): AsyncGenerator<string> {
  const first = JSON.stringify(header)
  let part = `{"header":${first},"text":"`
  for (const line of [first, ...lines]) {
    // Where a cut falls between the two halves of a code point, each is written as an escape.
    for (let from = 0; from < line.length; from += partUnits) {
      part += JSON.stringify(line.slice(from, from + partUnits)).slice(1, -1)
      if (part.length < partUnits) continue
      yield part
      part = ''
      await nextRound()
    }
    part += '\\n'
  }
  yield `${part}"}`
}
