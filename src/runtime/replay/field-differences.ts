/** Where two normalised events differ: field by field, with both values, each short enough for one line. */
import { isRecord } from '../../model/json.ts'

/** Null where a side does not have the field. */
export type FieldDifference = { field: string; recorded: string | null; replayed: string | null }

/** R11: who has seen so many does not look for more. */
const fieldsMax = 8
const shownUnits = 120
const unitsBefore = 30

/** None where a side is no event, or has nothing there. */
export function listFieldDifferences(recorded: string | null, replayed: string | null): FieldDifference[] {
  const [ours, theirs] = [parseRecord(recorded), parseRecord(replayed)]
  if (ours === null || theirs === null) return []
  const found: FieldDifference[] = []
  // Something else happened: the fields of one say nothing about the other.
  if (ours['type'] !== theirs['type']) compare('type', ours['type'], theirs['type'], found)
  else compare('', ours, theirs, found)
  return found
}

type Fields = Record<string, unknown>

function parseRecord(text: string | null): Fields | null {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

function compare(field: string, ours: unknown, theirs: unknown, found: FieldDifference[]): void {
  if (found.length >= fieldsMax || JSON.stringify(ours) === JSON.stringify(theirs)) return
  const [left, right] = [listFields(ours), listFields(theirs)]
  if (left === null || right === null) {
    found.push({ field, ...showBoth(ours, theirs) })
    return
  }
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)]))
    compare(field === '' ? name : `${field}.${name}`, left[name], right[name], found)
}

const listFields = (value: unknown): Fields | null =>
  Array.isArray(value) ? Object.fromEntries(value.entries()) : isRecord(value) ? value : null

/** Long values from a little before the place where they part. */
function showBoth(ours: unknown, theirs: unknown): Omit<FieldDifference, 'field'> {
  const [left, right] = [render(ours), render(theirs)]
  let same = 0
  while (left !== null && right !== null && same < left.length && left[same] === right[same]) same += 1
  const from = Math.max(0, same - unitsBefore)
  return { recorded: cut(left, from), replayed: cut(right, from) }
}

const render = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

function cut(text: string | null, from: number): string | null {
  if (text === null || text.length <= shownUnits) return text
  const end = from + shownUnits
  const shown = text.slice(from, end).toWellFormed()
  return `${from > 0 ? '…' : ''}${shown}${end < text.length ? '…' : ''}`
}
