/** Every act at every door, for each kind of asker: what nobody may do, and what a token is good for. */
import { describe, expect, test } from 'vitest'
import { askAllWithCurl, asAnotherUser, inAnotherNamespace, sayUntried, type Ask } from '../kits/peers.ts'
import { asSession, asTurn, openScene, user, type Scene } from './scene.ts'

type Identity = {
  name: string
  token: (scene: Scene) => Promise<string | null>
  before: readonly string[] | null
  /** Whether this asker may be told this at that door. */
  fits: (code: string, act: string) => boolean
}

const none = async (): Promise<null> => null
const isUsers = (act: string): boolean =>
  act.includes('/v1/') ||
  ['GET /api/questions', 'GET /api/waits', 'GET /metrics', 'GET /api/server'].includes(act)
/** What belongs to the user alone is not allowed, and nothing is refused for want of a token. */
const fitsToken = (code: string, act: string): boolean =>
  isUsers(act) ? code === 'not_allowed' : code !== 'not_authenticated'

const identities: readonly Identity[] = [
  {
    name: 'the user',
    token: none,
    before: [],
    fits: (code) => code !== 'not_authenticated' && code !== 'not_allowed',
  },
  {
    name: 'a session',
    token: async (scene) => scene.token(asSession(scene.actor.session)),
    before: [],
    fits: fitsToken,
  },
  { name: 'a turn', token: async (scene) => scene.token(asTurn(scene.actor)), before: [], fits: fitsToken },
  { name: 'a turn that has ended', token: endedTurn, before: [], fits: (code) => code === 'call_ended' },
  {
    name: 'another user',
    token: none,
    before: asAnotherUser,
    fits: (code) => code === 'not_authenticated',
  },
  {
    name: 'a program in a sandbox',
    token: none,
    before: inAnotherNamespace,
    fits: (code) => code === 'not_authenticated',
  },
]

async function endedTurn(scene: Scene): Promise<string> {
  const actor = await scene.begin('free')
  await scene.as(user).sessions.cancel(actor.session)
  await scene.as(user).sessions.wait(actor.session)
  return scene.token(asTurn(actor))
}

/** All routes that the server describes, with an id that does not exist, and the doors of other protocols. */
async function listActs(scene: Scene): Promise<Ask[]> {
  const { body } = await scene.ask(user, 'GET', '/openapi.json')
  const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{[^}]+\}/g, 'none'),
    })),
  )
  const upgrades = ['/ws', '/ws/host'].map((path) => ({ method: 'GET', path, upgrade: true }))
  const acts = [...described.filter(({ path }) => path !== '/health'), { method: 'POST', path: '/mcp' }]
  return [...acts, ...upgrades]
}

describe.skipIf(process.platform !== 'linux')('every act at every door', () => {
  for (const { name, before } of identities) sayUntried(`requests of ${name}`, before)

  test.each(identities.filter(({ before }) => before !== null))('asked by $name', async (identity) => {
    const scene = await openScene()
    const token = await identity.token(scene)
    const acts = await listActs(scene)
    expect(acts.length).toBeGreaterThan(40)
    const said = await askAllWithCurl(scene.served.url, acts, { before: identity.before ?? [], token })
    expect(Object.entries(said).filter(([act, code]) => !identity.fits(code, act))).toEqual([])
  })
})
