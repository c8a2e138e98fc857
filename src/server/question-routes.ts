/** Permission questions: a person answers, never an agent. */
import { z } from 'zod'
import { Answered, Questions } from './answer-shapes.ts'
import { actIdOf } from './idempotency.ts'
import { answer, IdPath, onlyUser, shapes, whoOf, type App, type Deps } from './route.ts'
import { isRefusal } from './wire-error.ts'

const tag = 'questions'

export function questionRoutes(app: App, { exchange }: Deps): void {
  app.get(
    '/api/questions',
    { schema: shapes({ summary: 'Open questions', tag }, { 200: Questions }) },
    async (request, reply) =>
      answer(
        reply,
        200,
        onlyUser(whoOf(request), 'see the questions for the user') ?? {
          questions: await exchange.questions(),
        },
      ),
  )

  const Post = z.strictObject({ answer: z.enum(['allow', 'deny']) })
  app.post(
    '/api/questions/:id',
    {
      schema: shapes(
        { summary: 'Answer a question, once', tag, params: IdPath, body: Post },
        { 200: Answered },
      ),
    },
    async (request, reply) => {
      const who = whoOf(request)
      const act = actIdOf(request, who)
      const refusal = isRefusal(act) ? act : onlyUser(who, 'answer for the user')
      return answer(
        reply,
        200,
        refusal ?? (await exchange.answer(request.params.id, request.body.answer, 'user')),
      )
    },
  )
}
