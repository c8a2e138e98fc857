/** Permission questions: a person answers, never an agent. */
import { Answered, NewAnswer, Questions } from '../wire/questions.ts'
import { IdPath } from '../wire/scalars.ts'
import { defineRoutes, type App, type Deps } from './route.ts'

export function questionRoutes(app: App, deps: Deps): void {
  const route = defineRoutes(app, deps, 'questions')
  route('GET', '/api/questions', { summary: 'Open questions', answers: { 200: Questions } }, ({ desk }) =>
    desk.questions.list(),
  )
  route(
    'POST',
    '/api/questions/:id',
    { summary: 'Answer a question, once', params: IdPath, body: NewAnswer, answers: { 200: Answered } },
    ({ desk, params, body }) => desk.questions.answer(params.id, body.answer),
  )
}
