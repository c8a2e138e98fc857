/** Places boxes in columns so that arrows go to the right: as far right as the longest way to a box. Rings are cut where they come back. */

export type LaidNode = { x: number; y: number; layer: number }
export type Laid = { at: Map<string, LaidNode>; width: number; height: number }

export function layered(names: readonly string[], edges: readonly { from: string; to: string }[], box: { width: number; height: number; gapX: number; gapY: number }): Laid {
  const layers = layersOf(names, edges)
  const rows = new Map<number, number>()
  const at = new Map<string, LaidNode>()
  for (const name of names) {
    const layer = layers.get(name) ?? 0
    const row = rows.get(layer) ?? 0
    rows.set(layer, row + 1)
    at.set(name, { x: margin + layer * (box.width + box.gapX), y: top + row * (box.height + box.gapY), layer })
  }
  const columns = Math.max(0, ...layers.values()) + 1
  const deepest = Math.max(1, ...rows.values())
  // Columns that are shorter stand in the middle.
  for (const place of at.values()) place.y += ((deepest - (rows.get(place.layer) ?? 0)) * (box.height + box.gapY)) / 2
  return { at, width: margin * 2 + columns * box.width + (columns - 1) * box.gapX, height: top + margin + deepest * box.height + (deepest - 1) * box.gapY + ringRoom }
}

const margin = 12
/** Room for what goes to itself. */
const top = 34
/** Arrows that come back run below the boxes. */
const ringRoom = 36

function layersOf(names: readonly string[], edges: readonly { from: string; to: string }[]): Map<string, number> {
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) if (from !== to) next.set(from, [...(next.get(from) ?? []), to])
  const layers = new Map<string, number>(names.map((name) => [name, 0]))
  const onPath = new Set<string>()
  // Each edge lifts its end at most once per way; a graph of agents is small, and the bound holds for one that is not.
  let steps = 0
  const visit = (name: string): void => {
    if (onPath.has(name) || steps > stepsMax) return
    onPath.add(name)
    for (const to of next.get(name) ?? []) {
      steps += 1
      const layer = (layers.get(name) ?? 0) + 1
      if (onPath.has(to) || layer <= (layers.get(to) ?? 0)) continue
      layers.set(to, layer)
      visit(to)
    }
    onPath.delete(name)
  }
  const targets = new Set(edges.filter(({ from, to }) => from !== to).map(({ to }) => to))
  for (const name of [...names.filter((one) => !targets.has(one)), ...names]) visit(name)
  return layers
}

const stepsMax = 20_000
