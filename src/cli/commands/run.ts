/** `tieline run "<task>"`: gives an agent a task, shows its calls while they happen, and prints its output. */
import { openConversation } from '../chat/conversation.ts'
import { endRun } from '../chat/end-run.ts'
import { printError, printResult, type Command, type CommandInput } from '../command.ts'
import { conversationFlags, readTask, readTimeout, timeoutFlag } from '../flags.ts'
import { collectCalls, describeFailure } from '../show/report.ts'

export const run: Command = {
  name: 'run',
  words: ['"<task>"'],
  help: 'Gives an agent a task; shows its calls on stderr and prints its output on stdout',
  flags: { ...conversationFlags, timeout: timeoutFlag },
  more: `
Ctrl-C cancels the run and everything below it. Where an agent needs permission ("ask" in the configuration),
you are asked here.`,
  examples: [
    'tieline run "Build what SPEC.md asks for"',
    'tieline run "And the tests?" --session ses_01 --timeout 120',
    'tieline run "Summarise the README" --agent reader --json | jq -r .output',
  ],
  async run(input: CommandInput): Promise<number> {
    const [timeoutMs, task] = [readTimeout(input), readTask(input.words[0])]
    const conversation = await openConversation(input, { out: input.err, conversation: false })
    const { agent } = conversation
    try {
      const result = await conversation.send(task, timeoutMs, input.signal)
      printResult(input, { agent, ...result, calls: collectCalls(conversation.tree()) }, result.output)
      if (!result.success && input.flags['json'] !== true)
        printError(input.err, describeFailure(input, agent, result, false))
      await endRun(input, conversation, result)
      return result.success ? 0 : 1
    } finally {
      await conversation.close()
    }
  },
}
