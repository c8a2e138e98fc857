/** The model that writes summaries: it takes some tokens, and sometimes there is none. */
import type { Usage } from '../src/model/event.ts'
import { summaryTokens } from './oracle/spending.ts'

export const summarise = (entries: number): { text: string; usage: Usage } | null =>
  entries % 3 === 0
    ? null
    : { text: `a summary of ${entries}`, usage: { input: summaryTokens, output: 0, estimated: false } }
