/** Hooks of programs that the user has open: they are told of their mail when they ask. */
import { andThen } from '../runtime/desk/asker.ts'
import type { Announced } from '../runtime/mail/announce.ts'
import type { Moment } from '../model/wake.ts'
import { ClaudeHook, ClaudeHookAnswer, claudeHookPath, claudeMoments, claudeProgram } from '../wire/hooks.ts'
import { defineRoutes, type App, type Deps } from './route.ts'

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
      const client = { name: claudeProgram, session: body.session_id, cwd: body.cwd }
      return andThen(desk.mail.announce(client, moment), (said) =>
        wordAnswer(body.hook_event_name, moment, said),
      )
    },
  )
}

const wordAnswer = (name: string, moment: Moment, { text }: Announced): ClaudeHookAnswer =>
  text === ''
    ? {}
    : moment === 'resting'
      ? { decision: 'block', reason: text }
      : { hookSpecificOutput: { hookEventName: name, additionalContext: text } }
