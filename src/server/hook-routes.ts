/** Programs that the user has open: they register, are told of their mail when they ask, and can be kept quiet. */
import { z } from 'zod'
import { andThen } from '../runtime/desk/asker.ts'
import type { Announced } from '../runtime/mail/announce.ts'
import type { Moment } from '../model/wake.ts'
import {
  ClaudeHook,
  ClaudeHookAnswer,
  claudeHookPath,
  claudeMoments,
  claudeProgram,
  NewQuiet,
  NewsAsk,
  Quiet,
  SessionNews,
  waiterMsMax,
} from '../wire/hooks.ts'
import { IdPath } from '../wire/scalars.ts'
import { defineRoutes, type App, type Deps } from './route.ts'

const describeClient = ({ session_id, cwd }: ClaudeHook) => ({
  name: claudeProgram,
  session: session_id,
  cwd,
})

export function hookRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'mail')
  route(
    'POST',
    claudeHookPath,
    {
      summary: 'A hook of Claude Code',
      description:
        'Registers the session, and answers with what Claude Code puts before its model: mail that waits and was ' +
        'not announced to this session yet. For programs of the user only.',
      body: ClaudeHook,
      answers: { 200: ClaudeHookAnswer },
    },
    async ({ desk, body }) => {
      const moment = claudeMoments[body.hook_event_name]
      if (moment === undefined) return {}
      const client = describeClient(body)
      if (moment === 'ended')
        return andThen(desk.programs.close(client, body.reason ?? 'Claude Code has ended'), () => ({}))
      const prompt = moment === 'prompted' ? body.prompt : undefined
      return andThen(desk.programs.announce(client, moment, prompt), (said) =>
        wordAnswer(body.hook_event_name, moment, said),
      )
    },
  )
  route(
    'POST',
    `${claudeHookPath}/wait`,
    {
      summary: 'Wait until a session of Claude Code that rests is to be started',
      description:
        'Answers 200 with the plain text that starts it, so that a shell can read it. 204: nothing yet, ask again. ' +
        '205: another one waits now in its place.',
      body: ClaudeHook,
      answers: { 200: z.string(), 204: z.undefined(), 205: z.undefined() },
      whenStopping: 'waitEnds',
    },
    ({ desk, body, reply }) =>
      andThen(
        desk.programs.await(describeClient(body), { ms: waiterMsMax, busy: false }),
        ({ status, text }) => {
          void (status === 'told'
            ? reply.type('text/plain; charset=utf-8').serializer(String).send(text)
            : reply.code(status === 'nothing' ? 204 : 205).send())
          return null
        },
      ),
  )
  newsRoutes(app, deps)
  quietRoutes(app, deps)
}

/** For connected programs, whose sessions have ids here. */
function newsRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'mail')
  route(
    'POST',
    '/api/sessions/:id/news',
    {
      summary: 'What a session of a connected program is to be told of its mail now',
      description: 'For programs of the user only. Each message is told once.',
      params: IdPath,
      body: NewsAsk,
      answers: { 200: SessionNews },
    },
    ({ desk, params, body }) => desk.programs.tell(params.id, body.moment),
  )
  route(
    'POST',
    '/api/sessions/:id/news/wait',
    {
      summary: 'Wait until a session of a connected program that rests is to be started',
      params: IdPath,
      answers: { 200: SessionNews },
      whenStopping: 'waitEnds',
    },
    ({ desk, params }) => desk.programs.awaitFor(params.id, waiterMsMax),
  )
}

function quietRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'mail')
  route(
    'GET',
    '/api/quiet',
    { summary: 'What is quiet: not told of its mail', answers: { 200: Quiet } },
    ({ desk }) => desk.programs.quiet(),
  )
  route(
    'POST',
    '/api/quiet',
    {
      summary: 'Keep a session, or all of them, from being told of mail',
      description: 'For the user only. The mail waits; when the time is over, it is announced.',
      body: NewQuiet,
      answers: { 200: Quiet },
    },
    ({ desk, body }) => desk.programs.setQuiet(body),
  )
}

const wordAnswer = (name: string, moment: Moment, { text }: Announced): ClaudeHookAnswer =>
  text === ''
    ? {}
    : moment === 'resting'
      ? { decision: 'block', reason: text }
      : { hookSpecificOutput: { hookEventName: name, additionalContext: text } }
