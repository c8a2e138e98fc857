/**
 * Models that answer with something that does harm, and agents that read files and run commands because of
 * it.
 */
import { post, type Family } from '../attack.ts'
import { answers } from '../provider.ts'

export const modelAnswers: Family = {
  name: 'answers',
  attacks: [
    ...Object.keys(answers).map((name) => ({
      kind: `answer: ${name}`,
      try: (target: Parameters<Family['attacks'][number]['try']>[0]) =>
        post(target, '/api/calls', {
          agent: 'guest',
          task: `answer-${name}`,
          timeout_seconds: 6,
          allow_nested_calls: true,
        }),
    })),
    {
      kind: 'answer: a workspace that does harm',
      try: (target) =>
        post(target, '/api/calls', {
          agent: 'guest',
          task: 'look',
          context: { include_workspace: true, include_summary: true },
          timeout_seconds: 6,
        }),
    },
  ],
}
