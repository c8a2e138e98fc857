/** The user's command runs once for each thing that needs them, whatever is in the text. */
import { expect, test } from 'vitest'
import { isRefusal } from '../model/refusal.ts'
import { world, type World, type WorldOptions } from '../../test/kits/world.ts'
import { fillCommand, notifyView, type NotifyDeps } from './notify.ts'

/** A world whose needs are announced to a list. */
async function announced(options: WorldOptions, more: Partial<NotifyDeps> = {}) {
  const w = await world(options)
  const ran: string[][] = []
  const warnings: string[] = []
  const { log } = w.desks.as({})
  const open = () =>
    notifyView({
      command: ['ring', '{title}', '{text}'],
      needs: async () => {
        const found = await log.needs()
        return isRefusal(found) ? [] : found.needs
      },
      link: () => 'http://here/',
      mask: (text) => text.replaceAll('hunter2', '[redacted]'),
      run: async (command) => (ran.push([...command]), null),
      clock: w.clock,
      warn: (text) => warnings.push(text),
      ...more,
    })
  const view = open()
  log.follow(log.lastSeq(), null, { events: (events) => view.events(events), delta: () => undefined })
  return { w, ran, warnings, view, open }
}

const failing = { agents: { coder: { script: () => Promise.reject(new Error('no compiler here')) } } }
const settle = async (w: World): Promise<void> => w.pass(1000)

test('each thing that needs the person is announced once, also after a restart', async () => {
  const { w, ran, open } = await announced(failing)
  await w.run('coder', 'Build it')
  await settle(w)
  expect(ran).toEqual([['ring', 'Build it: failed', expect.stringContaining('no compiler here')]])
  await w.run('coder', 'Build it again')
  await settle(w)
  expect(ran.map(([, title]) => title)).toEqual(['Build it: failed', 'Build it again: failed'])
  const again = open()
  await settle(w)
  await again.settled()
  expect(ran).toHaveLength(2)
})

test('what ends well is not announced, and a burst is not one command each', async () => {
  const { w, ran } = await announced({
    agents: { ...failing.agents, poet: { script: async () => 'a poem' } },
  })
  await w.run('poet', 'Write')
  await settle(w)
  expect(ran).toEqual([])
  const runs = Array.from({ length: 9 }, (_, index) => w.ask('coder', `Build ${index}`))
  for (const run of runs) await w.until(run)
  await settle(w)
  expect(ran).toHaveLength(6)
  expect(ran.at(-1)?.[1]).toBe('4 more things need you')
})

test('a secret is masked, and a command that fails is one warning', async () => {
  const { w, ran, warnings } = await announced(failing, { run: async () => 'it is broken' })
  await w.run('coder', 'Log in with hunter2')
  await w.run('coder', 'Once more')
  await settle(w)
  expect(ran).toEqual([])
  expect(warnings).toEqual(['notify.command: it is broken'])
  const shown = await announced(failing)
  await shown.w.run('coder', 'Log in with hunter2')
  await settle(shown.w)
  expect(shown.ran.flat().join(' ')).toContain('Log in with [redacted]')
})

test('text of an agent is one argument, and never an option or the program', () => {
  const about = { title: '--icon=/etc/passwd', text: '-x; rm -rf $(pwd) {title}', link: 'http://here/' }
  expect(fillCommand(['ring', '{title}', '--body={text}', '{link}'], about)).toEqual([
    'ring',
    ' --icon=/etc/passwd',
    '--body=-x; rm -rf $(pwd) {title}',
    'http://here/',
  ])
})
