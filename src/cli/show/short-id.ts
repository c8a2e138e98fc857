/** Ids as people type them: the last characters, which only one has. */

const lengthMin = 6

/**
 * `731942` of `flow_217073219793731942`; an id that somebody chose stays whole, and none begins like a flag.
 */
export function shortId(id: string): string {
  if (!/^(flow|call|turn)_[A-Za-z0-9_-]{12,}$/.test(id) && !/^ses_[A-Za-z0-9]{12,}$/.test(id)) return id
  let length = lengthMin
  while (id.at(-length) === '-') length += 1
  return id.slice(-length)
}

/** A question is named by its turn and its step. */
export const shortQuestion = (id: string): string => id.slice(-8)

/** Sentences of the server have whole ids; here the short ones are enough. */
export const shortenIds = (text: string): string =>
  text.replaceAll(/\b(?:question|flow|call|turn|ses)_[\w-]{12,}/g, (id) =>
    id.startsWith('question_') ? shortQuestion(id) : shortId(id),
  )
