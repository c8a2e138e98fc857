/**
 * `tieline run "<task>"`: gives an agent a task, shows its calls while they happen, and prints its output.
 */
import { renderCommand, printJson, type Command, type CommandInput } from '../command.ts'
import { conversationFlags, readTask, timeoutFlag, readTimeout } from '../flags.ts'

export const run: Command = {
  name: 'run',
  words: ['"<task>"'],
  help: 'Gives an agent a task; its calls are shown on stderr, its output is printed on stdout',
  flags: { ...conversationFlags, timeout: timeoutFlag },
  more: [
    'Ctrl-C cancels the run and everything below it. Where an agent must ask first ("ask" in the configuration), you are asked here.',
    '',
    'Examples:',
    '  tieline run "Build what SPEC.md asks for"',
    '  tieline run "And the tests?" --session ses_01 --timeout 120',
    '  tieline run "Summarise the README" --agent reader --json | jq -r .output',
  ],
  run: runTask,
}

async function runTask(input: CommandInput): Promise<number> {
  const [timeoutMs, task] = [readTimeout(input), readTask(input.words[0])]
  const [{ openConversation }, { collectCalls, lastWords }] = await Promise.all([
    import('../chat/conversation.ts'),
    import('../show/report.ts'),
  ])
  const conversation = await openConversation(input, { out: input.err, conversation: false })
  try {
    const result = await conversation.send(task, timeoutMs, input.signal)
    if (input.flags['json'] === true)
      printJson(input.out, { agent: conversation.agent, ...result, calls: collectCalls(conversation.tree()) })
    else if (result.output !== '') input.out.write(renderCommand(result.output))
    if (!result.success && input.flags['json'] !== true)
      input.err.write(lastWords(input, conversation.agent, result, false))
    return result.success ? 0 : 1
  } finally {
    await conversation.close()
  }
}
