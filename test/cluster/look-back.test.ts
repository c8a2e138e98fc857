/** Looking back at the log of a cluster from the command line, where no node runs on this machine. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { patience, project, start, type Ended } from '../kits/cli.ts'
import { freshDatabase } from '../kits/cluster-lines.ts'
import { startPostgres } from '../kits/postgres.ts'

// It starts a dozen processes, one after the other.
vi.setConfig({ ...patience, testTimeout: 300_000 })
const postgres = await startPostgres()
afterAll(() => postgres?.stop())

describe.skipIf(postgres === null)('the log of a cluster without a node', () => {
  test('is listed, explained, exported and replayed, and an imported one beside it is its own', async () => {
    const url = await freshDatabase(postgres)
    const { cwd, data } = project({ store: { engine: 'postgres' } })
    const tieline = (...args: string[]): Promise<Ended> => {
      const { child, ended } = start(cwd, args, { TIELINE_DATABASE_URL: url })
      child.stdin.end()
      return ended
    }
    expect(await tieline('call', 'boss', 'look around')).toMatchObject({ code: 0 })
    const listed = await tieline('calls', '--json')
    const [{ flow }] = JSON.parse(listed.out) as [{ flow: string }]
    expect((await tieline('flow', flow)).out).toContain('helper')
    expect(await tieline('explain', flow)).toMatchObject({ code: 0 })

    const exported = await tieline('export', flow, '--out', 'run.jsonl')
    expect(exported).toMatchObject({ code: 0 })
    expect(exported.out).toContain('events of 3 turns')
    expect((await tieline('replay', flow)).out).toContain('Equal: ')

    // The directory of a node has nothing else than its copy: another machine without one exports the same.
    const away = join(cwd, 'away')
    mkdirSync(away)
    const text = (await tieline('export', flow, '--data-dir', away)).out
    expect(lines(text)).toEqual(lines((await tieline('export', flow, '--data-dir', data)).out))

    expect(await tieline('import', 'run.jsonl', '--data-dir', 'replayed')).toMatchObject({ code: 0 })
    expect((await tieline('replay', flow, '--data-dir', 'replayed')).out).toContain('Equal: ')
  })
})

/** Without the header, which has the time of the export. */
const lines = (text: string): string[] => text.trim().split('\n').slice(1)
