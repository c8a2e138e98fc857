/** Calls: ask an agent and wait for its answer; what was called, what a request caused, and who waits for whom. */
import { CallAnswer, CallRecord, Calls, CallsPage, CallsQuery, NewCall } from '../wire/calls.ts'
import { Explanation } from '../wire/explain.ts'
import { ExportedLog, ExportQuery, Flow, FlowEvents, FlowEventsQuery, Waits } from '../wire/log.ts'
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
  flowRoutes(app, deps)
}

const noFlow = (id: string) =>
  wireNo('not_found', `There is no flow "${id}". A message's answer and a call's record name theirs.`)

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
    async (asked) => {
      const flow = await asked.desk.log.flow(asked.params.id)
      if (flow === null) say(asked.reply, noFlow(asked.params.id))
      return flow
    },
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
    async (asked) => {
      const page = await asked.desk.log.flowEvents(asked.params.id, asked.query)
      if (page === null) say(asked.reply, noFlow(asked.params.id))
      return page
    },
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
    (asked) => asked.desk.log.export(asked.query.id ?? null),
  )
  route('GET', '/api/waits', { summary: 'Who waits for whom now', answers: { 200: Waits } }, (asked) =>
    asked.desk.log.waits(),
  )
}
