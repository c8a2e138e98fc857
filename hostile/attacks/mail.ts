/** Mail that is too much, from nobody, to nobody, or under somebody else's id. */
import { ask, post, type Family, type Target } from '../attack.ts'

const any = ({ sessions, random }: Target): string => random.pick(sessions)

export const mail: Family = {
  name: 'mail',
  attacks: [
    {
      kind: 'mail: to nobody',
      try: (target) => post(target, '/api/messages', { message: 'x', session: 'ses_nobody' }),
    },
    {
      kind: 'mail: odd ids',
      try: (target) =>
        post(target, '/api/messages', { message: 'x', session: any(target), id: '../../\u0000' }),
    },
    {
      kind: 'mail: id of another',
      try: (target) =>
        post(target, '/api/messages', { message: 'not mine', session: any(target), id: 'load-0-0' }),
    },
    {
      kind: 'mail: reply to nothing',
      try: (target) => post(target, '/api/messages', { message: 'x', reply: ['none'] }),
    },
    {
      kind: 'mail: many replies',
      try: (target) =>
        post(target, '/api/messages', {
          message: 'x',
          reply: Array.from({ length: 5000 }, (_, n) => `m${n}`),
        }),
    },
    {
      kind: 'mail: too long',
      try: (target) => post(target, '/api/messages', { message: 'é'.repeat(90_000), session: any(target) }),
    },
    {
      kind: 'mail: half keys',
      try: (target) =>
        post(target, '/api/messages', { message: '-sk-'.repeat(25_000), session: any(target) }),
    },
    {
      kind: 'mail: a flood',
      try: async (target) =>
        (
          await Promise.all(
            Array.from({ length: 40 }, () =>
              post(target, `/api/sessions/${any(target)}/messages`, { message: 'flood', delivery: 'buffer' }),
            ),
          )
        )[0] ?? 'cut',
    },
    {
      kind: 'mail: drafts',
      try: async (target) =>
        (
          await Promise.all(
            Array.from({ length: 10 }, (_, n) =>
              post(target, '/api/messages', { message: `d${n}`, draft: true, session: any(target) }),
            ),
          )
        )[0] ?? 'cut',
    },
    {
      kind: 'mail: accepted twice at once',
      try: async (target) => {
        const one = any(target)
        return (
          (
            await Promise.all(
              [1, 2, 3].map(() => post(target, `/api/sessions/${one}/accept`, { which: 'oldest' })),
            )
          )[0] ?? 'cut'
        )
      },
    },
    {
      kind: 'mail: declines what is not there',
      try: (target) => post(target, '/api/messages/none/decline', {}),
    },
    {
      kind: 'mail: a parent of itself',
      try: (target) => {
        const one = any(target)
        return post(target, `/api/sessions/${one}/adopt`, { parent: one })
      },
    },
    {
      kind: 'mail: titles that act',
      try: (target) =>
        post(target, '/api/sessions', {
          cwd: target.cwd,
          agent: 'clerk',
          title: '\u001b]0;x\u0007<script>alert(1)</script>\u202e',
        }),
    },
    {
      kind: 'mail: cancels everything',
      try: (target) => post(target, `/api/sessions/${any(target)}/cancel`, { all: true }),
    },
    {
      kind: 'mail: forks of forks',
      try: (target) =>
        post(target, `/api/sessions/${any(target)}/fork`, { back: target.random.below(1_000_000) }),
    },
    {
      kind: 'mail: a page far away',
      try: (target) =>
        ask(target, 'GET', `/api/sessions/${any(target)}/messages?before=99999999999999999999&limit=99999`),
    },
  ],
}
