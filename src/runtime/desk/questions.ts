/** Permission questions: a person answers, never an agent. */
import type { Answer } from '../../model/question.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Answered, Question, Questions } from '../../wire/questions.ts'
import { findQuestion } from '../look/find.ts'
import { answerQuestion, type GivenAnswer } from '../turns/question.ts'
import { andThen, onlyUser, type Asker } from './asker.ts'
import type { DeskParts } from './parts.ts'

export type QuestionDesk = {
  list(): Promise<Questions | Refusal>
  /** Answered once: a second answer is refused with what the first was. */
  answer(question: string, given: Answer | GivenAnswer): Promise<Answered | Refusal>
}

export const questionDesk = ({ runtime }: DeskParts, { who }: Asker): QuestionDesk => ({
  async list() {
    const refusal = onlyUser(who, 'see the questions for the user')
    if (refusal !== null) return refusal
    const questions = (await runtime.lists.openQuestions()).flatMap(({ event, at }): Question[] => {
      if (event.type !== 'question.asked' || event.turn === null) return []
      const { question: id, session, turn, flow, agent, tool, input, path, deadline } = event
      return [{ id, session, turn, flow, agent, tool, input, path, askedAt: at, deadline }]
    })
    return { questions }
  },
  answer: async (question, given) =>
    onlyUser(who, 'answer for the user') ??
    andThen(findQuestion(runtime.lists, question), ({ id }) =>
      answerQuestion(runtime, id, typeof given === 'string' ? { answer: given } : given, 'user'),
    ),
})
