/** How many mutations were noticed, for each room and in all. */
import { findRoom } from './mutation.ts'
import type { Verdict } from './judge.ts'

type Row = { room: string; killed: number; total: number }

/** Below this share of the mutations made by hand the run fails. */
export const handShareMin = 0.9

export function countRooms(verdicts: readonly Verdict[]): Row[] {
  const rooms = Map.groupBy(verdicts, ({ mutation }) => findRoom(mutation))
  return [...rooms]
    .map(([room, found]) => ({
      room,
      killed: found.filter(({ killedBy }) => killedBy !== null).length,
      total: found.length,
    }))
    .sort((a, b) => a.room.localeCompare(b.room))
}

export const share = ({ killed, total }: Pick<Row, 'killed' | 'total'>): number =>
  total === 0 ? 1 : killed / total

export const renderShare = (row: Pick<Row, 'killed' | 'total'>): string =>
  `${(share(row) * 100).toFixed(1)} %`

export function sumRows(rows: readonly Row[]): Row {
  const sum = (pick: (row: Row) => number): number => rows.reduce((total, row) => total + pick(row), 0)
  return { room: 'all', killed: sum(({ killed }) => killed), total: sum(({ total }) => total) }
}

export function renderScore(verdicts: readonly Verdict[]): string[] {
  const rows = countRooms(verdicts)
  return [
    '| room | mutations | killed | share |\n| --- | ---: | ---: | ---: |',
    ...[...rows, sumRows(rows)].map(
      (row) => `| ${row.room} | ${row.total} | ${row.killed} | ${renderShare(row)} |`,
    ),
  ]
}

/** Survivors: with the reason why no test can tell them from the original, or without. */
export const renderSurvivors = (verdicts: readonly Verdict[]): string[] =>
  verdicts
    .filter(({ killedBy }) => killedBy === null)
    .map(({ mutation: { file, says, alive } }) => `survived: ${file}: ${says} (${alive ?? 'not explained'})`)

/** A survivor must be explained, and few may survive even so. */
export function passes(verdicts: readonly Verdict[]): boolean {
  const isExplained = ({ killedBy, mutation }: Verdict): boolean =>
    killedBy !== null || mutation.alive !== undefined
  return verdicts.every(isExplained) && share(sumRows(countRooms(verdicts))) >= handShareMin
}
