/** Words and marks: the same count on every machine, without a vocabulary. */
export function countWords(text: string): number {
  return text.match(/\w+|[^\s\w]/g)?.length ?? 0
}
