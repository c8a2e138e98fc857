/** `tieline steer <call> "<text>"`: says something to an agent while it works. */
import { surroundings } from '../../client/surroundings.ts'
import { printResult, type Command, type CommandInput } from '../command.ts'
import { withServer } from '../reach/reach.ts'

export const steer: Command = {
  name: 'steer',
  words: ['<call>', '<text>'],
  help: 'Says something to an agent while it works on a call',
  flags: {},
  more: `
The agent goes on with that in mind. One that can take it in the middle of its work gets it at once ("injected");
any other gets it before it may end ("queued"). "tieline calls" lists the calls; "last" is the newest.`,
  examples: ['tieline calls', 'tieline steer call_01 "leave the tests alone"'],
  async run(input: CommandInput): Promise<number> {
    const [id = '', text = ''] = input.words
    const key = surroundings.draw()
    return withServer(input, async ({ client }) => {
      const steered = await client.calls.steer(id, text, { signal: input.signal, key })
      const how = steered.status === 'injected' ? 'It has it.' : 'It gets it before it may end.'
      printResult(input, steered, `${steered.call_id}: ${how}`, '')
      return 0
    })
  },
}
