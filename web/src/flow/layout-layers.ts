/** Places boxes in columns so that arrows point to the right. Cycles are cut where they come back. */

export type LaidNode = { x: number; y: number; layer: number }
export type Laid = { at: Map<string, LaidNode>; width: number; height: number }

export function layoutLayers(
  names: readonly string[],
  edges: readonly { from: string; to: string }[],
  box: { width: number; height: number; gapX: number; gapY: number },
): Laid {
  const layers = assignLayers(names, edges)
  const rows = new Map<number, number>()
  const at = new Map<string, LaidNode>()
  for (const name of names) {
    const layer = layers.get(name) ?? 0
    const row = rows.get(layer) ?? 0
    rows.set(layer, row + 1)
    at.set(name, {
      x: margin + layer * (box.width + box.gapX),
      y: top + row * (box.height + box.gapY),
      layer,
    })
  }
  const columns = Math.max(0, ...layers.values()) + 1
  const deepest = Math.max(1, ...rows.values())
  // Shorter columns are centred.
  for (const place of at.values())
    place.y += ((deepest - (rows.get(place.layer) ?? 0)) * (box.height + box.gapY)) / 2
  return {
    at,
    width: margin * 2 + columns * box.width + (columns - 1) * box.gapX,
    height: top + margin + deepest * box.height + (deepest - 1) * box.gapY + ringRoom,
  }
}

const margin = 12
/** Room for arrows from a box to itself. */
const top = 34
/** Arrows that come back run below the boxes. */
const ringRoom = 36

/**
 * First a walk from the boxes without incoming arrows finds the arrows that come back and drops them. Then
 * the layer of a box is the length of the longest path to it.
 */
function assignLayers(
  names: readonly string[],
  edges: readonly { from: string; to: string }[],
): Map<string, number> {
  const next = new Map<string, Set<string>>(names.map((name) => [name, new Set()]))
  for (const { from, to } of edges) if (from !== to && next.has(to)) next.get(from)?.add(to)
  const targets = new Set([...next.values()].flatMap((to) => [...to]))
  const state = new Map<string, 'open' | 'done'>()
  const order: string[] = []
  const visit = (name: string): void => {
    if (state.has(name)) return
    state.set(name, 'open')
    for (const to of next.get(name) ?? []) {
      if (state.get(to) === 'open') next.get(name)?.delete(to)
      else visit(to)
    }
    state.set(name, 'done')
    order.push(name)
  }
  for (const name of [...names.filter((one) => !targets.has(one)), ...names]) visit(name)
  const layers = new Map<string, number>(names.map((name) => [name, 0]))
  for (const name of order.toReversed())
    for (const to of next.get(name) ?? [])
      layers.set(to, Math.max(layers.get(to) ?? 0, (layers.get(name) ?? 0) + 1))
  return layers
}
