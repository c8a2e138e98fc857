/** The part of the Store contract that is about giving out the whole log, as exports do. */
import { expect, test } from 'vitest'
import { append, created } from '../../test/kits/store.ts'
import type { Fresh } from './store-contract.ts'

export function logContract(fresh: Fresh): void {
  test('R2: an export had events that were decided and not committed', async () => {
    const { store } = await fresh()
    await append(store, created('ses_kept'))
    const given: string[] = []
    const decided = append(store, created('ses_decided'))
    const looks = store.transact(['session:ses_other'], async () => {
      for (const { events } of store.transactions()) given.push(...events.map(({ event }) => event.session))
    })
    await Promise.all([decided, looks])
    expect(new Set(given)).toEqual(new Set(['ses_kept']))
    expect([...store.transactions()].map(({ events }) => events[0]?.seq)).toEqual([1, 2])
  })

  test('who reads the whole log gets it as it was at the beginning, and keeps nobody from what is newer', async () => {
    const { store } = await fresh()
    const many = Array.from({ length: 600 }, (_, n) => append(store, created(`ses_${n}`)))
    await Promise.all(many)
    const seqs: number[] = []
    let newer: unknown = null
    for (const { events } of store.transactions()) {
      if (seqs.length === 300) await append(store, created('ses_newer'))
      if (seqs.length === 300) newer = await store.session('ses_newer')
      seqs.push(...events.map(({ seq }) => seq))
    }
    expect(newer).toMatchObject({ id: 'ses_newer' })
    expect(seqs).toEqual(Array.from({ length: 600 }, (_, n) => n + 1))
  })
}
