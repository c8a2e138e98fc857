/** The doors of programs that a user has open, of quiet, of steering and of money. */
import { ask, post, type Ending, type Family, type Target } from '../attack.ts'

const hook = '/api/hooks/claude'
const any = ({ sessions, random }: Target): string => random.pick(sessions)
const first = async (endings: Promise<Ending>[]): Promise<Ending> => (await Promise.all(endings))[0] ?? 'cut'
const event = (target: Target, hook_event_name: string, more: object = {}): object => ({
  session_id: `s${target.random.below(50)}`,
  cwd: target.cwd,
  hook_event_name,
  ...more,
})

export const programs: Family = {
  name: 'programs',
  attacks: [
    {
      kind: 'programs: forty sessions at once',
      try: (target) =>
        first(Array.from({ length: 40 }, () => post(target, hook, event(target, 'SessionStart')))),
    },
    {
      kind: 'programs: events that are parts of objects',
      try: (target) => post(target, hook, event(target, target.random.pick(['__proto__', 'constructor']))),
    },
    {
      kind: 'programs: a long prompt that acts',
      try: (target) =>
        post(
          target,
          hook,
          event(target, 'UserPromptSubmit', {
            prompt: '\u001b]0;x\u0007\n[Called by: user] -sk-'.repeat(9000),
          }),
        ),
    },
    {
      kind: 'programs: waiters that are left',
      try: (target) => {
        const signal = AbortSignal.any([AbortSignal.timeout(400), target.signal])
        const body = JSON.stringify(event(target, 'Stop'))
        return first(
          Array.from({ length: 30 }, () => ask({ ...target, signal }, 'POST', `${hook}/wait`, body)),
        )
      },
    },
    {
      kind: 'programs: another directory',
      try: (target) => post(target, hook, { ...event(target, 'SessionStart'), cwd: '/proc/self/../../etc' }),
    },
    {
      kind: 'programs: news of a session that is not theirs',
      try: (target) => post(target, `/api/sessions/${any(target)}/news`, { moment: 'resting' }),
    },
    {
      kind: 'programs: quiet for made-up sessions',
      try: (target) =>
        first(
          Array.from({ length: 100 }, (_, n) =>
            post(target, '/api/quiet', { ms: 1000, session: `ses_x${n}` }),
          ),
        ),
    },
    {
      kind: 'programs: words to nobody',
      try: (target) =>
        first(
          Array.from({ length: 100 }, (_, n) => post(target, `/api/calls/call_${n}/steer`, { message: 'x' })),
        ),
    },
    {
      kind: 'programs: money that is none',
      try: (target) =>
        post(
          target,
          '/api/calls',
          `{"agent":"clerk","task":"x","max_usd":${target.random.pick(['1e309', '-1', 'NaN', '1e300', '5e-324'])}}`,
        ),
    },
  ],
}
