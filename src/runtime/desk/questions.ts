/** Permission questions: a person answers, never an agent. */
import type { Answer } from '../../model/event.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { Answered, Question, Questions } from '../../wire/questions.ts'
import { answerQuestion } from '../turns/question.ts'
import { onlyUser, type Asker } from './asker.ts'
import type { DeskParts } from './parts.ts'

export type QuestionDesk = {
  list(): Promise<Questions | Refusal>
  /** Answered once: a second answer is refused with what the first was. */
  answer(question: string, answer: Answer): Promise<Answered | Refusal>
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
  answer: async (question, answer) =>
    onlyUser(who, 'answer for the user') ?? answerQuestion(runtime, question, answer, 'user'),
})
