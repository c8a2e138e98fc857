/** Planted bugs of nodes of two versions: one of the two questions is not asked. */
import type { Bug } from './bug.ts'
import type { Plan } from './plan.ts'

const hasUpgrade = ({ faults }: Plan): boolean => faults.some(({ kind }) => kind === 'version')

export const versionBugs: readonly (() => Bug)[] = [
  () => ({
    name: 'reads-what-is-newer',
    law: 'R10',
    says: 'a node that was frozen during an upgrade goes on with what it does not know',
    shows: hasUpgrade,
    knowsLog: () => true,
  }),
  () => ({
    name: 'upgrades-beside-older',
    law: 'R12',
    says: 'a node of a newer version starts while one of an older version lives',
    shows: hasUpgrade,
    findBar: () => null,
  }),
]
