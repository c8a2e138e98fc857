/** Flows, calls and questions by a part of their id that only one has, or `last` for the newest. */
import { badInput, type Refusal } from '../../model/refusal.ts'
import type { Lists } from '../kernel/lists-port.ts'

const candidatesMax = 10
type Kind = Parameters<Lists['idsLike']>[0]

/** Null where nothing fits. A whole id is not looked up: what it names may be of any age. */
async function findId(
  lists: Pick<Lists, 'idsLike'>,
  kind: Kind,
  given: string,
): Promise<{ id: string } | Refusal | null> {
  if (given === 'last') {
    const [newest] = await lists.idsLike(kind, '', 1)
    return newest === undefined ? null : { id: newest }
  }
  const like = given === '' ? [] : await lists.idsLike(kind, given, candidatesMax + 1)
  const [only] = like
  if (only === undefined) return null
  if (like.length === 1 || like.includes(given)) return { id: like.includes(given) ? given : only }
  const candidates = like.slice(0, candidatesMax).join(', ')
  return badInput('id', given, `a part that only one ${kind} has; it fits ${candidates}`)
}

type Reader = Pick<Lists, 'idsLike'>

export const findFlow = (lists: Reader, given: string): Promise<{ id: string } | Refusal | null> =>
  findId(lists, 'flow', given)

export const findCall = async (lists: Reader, given: string): Promise<{ id: string } | Refusal> =>
  (await findId(lists, 'call', given)) ?? { code: 'call_unknown', call: given }

/** Only open ones have short names: one that was answered is known by its whole id. */
export const findQuestion = async (lists: Reader, given: string): Promise<{ id: string } | Refusal> =>
  given.startsWith('question_') && given !== 'question_'
    ? ((await findId(lists, 'question', given)) ?? { id: given })
    : ((await findId(lists, 'question', given)) ?? { code: 'question_unknown', question: given })
