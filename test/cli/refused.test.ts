/** How a call that was refused ends on the command line. */
import { expect, test, vi } from 'vitest'
import { cli, patience, project, start } from '../kits/cli.ts'

vi.setConfig(patience)

test('a call that was refused ends with its flow too, and a timeout is said in seconds', async () => {
  const { cwd } = project({ agents: { slow: { driver: 'scripted', script: [{ hang: true }] } } })
  const server = start(cwd, ['serve', '--json'])
  try {
    await server.says('"url"')
    const refused = await cli(cwd, 'call', 'slwo', 'Do it')
    expect(refused.code).toBe(1)
    const short = /^flow (\S+) {2}http.*\/#\/flows\/flow_/m.exec(refused.err)?.[1] ?? 'none'
    expect((await cli(cwd, 'flow', short)).out).toMatch(
      /^✗ tieline call {2}Do it[\s\S]*There is no agent "slwo"/,
    )
    const late = await cli(cwd, 'run', 'Do it', '--timeout', '0.5')
    expect(late.err).toContain('no answer within 0.5 s, as --timeout says')
    // It was recorded as cancelled by the user.
    expect((await cli(cwd, 'flow', 'last')).out).toMatch(/timed out|timed_out/)
    const why = (await cli(cwd, 'explain', 'last')).out
    expect(why).toMatch(/the time that the user gave it is over/)
    expect(why).not.toMatch(/cancelled by the user|external/)
  } finally {
    server.child.kill('SIGTERM')
    await server.ended
  }
})
