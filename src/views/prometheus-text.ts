/** Counters, gauges and histograms in the text format of Prometheus (version 0.0.4). */

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'

export type Labels = Readonly<Record<string, string>>
export type Metric = { text(): string }
export type Counter = Metric & { add(labels: Labels, by?: number): void; get(labels: Labels): number }
export type Histogram = Metric & { observe(labels: Labels, value: number): void }

/**
 * R11: label sets beyond this are not kept apart; whoever labels by a name that others choose bounds it
 * first.
 */
const seriesMax = 5000

const labelValue = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
const labelText = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${labelValue(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
/**
 * Tells series of one metric apart, which all have the same labels. Counting happens with every event, so
 * nothing is escaped before somebody reads.
 */
const keyOf = (labels: Labels): string => {
  let key = ''
  for (const name in labels) key += `${labels[name]}\n`
  return key
}
const numberText = (value: number): string =>
  value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value)
const head = (name: string, help: string, type: string): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`

export function counter(name: string, help: string): Counter {
  const series = new Map<string, { labels: Labels; value: number }>()
  return {
    add(labels, by = 1) {
      const key = keyOf(labels)
      const known = series.get(key)
      if (known !== undefined) known.value += by
      else if (series.size < seriesMax) series.set(key, { labels, value: by })
    },
    get: (labels) => series.get(keyOf(labels))?.value ?? 0,
    text: () =>
      head(name, help, 'counter') +
      [...series.values()]
        .map(({ labels, value }) => `${name}${labelText(labels)} ${numberText(value)}\n`)
        .join(''),
  }
}

type Buckets = { labels: Labels; counts: number[]; sum: number; count: number }

export function histogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const series = new Map<string, Buckets>()
  return {
    observe(labels, value) {
      const key = keyOf(labels)
      const known = series.get(key)
      if (known === undefined && series.size >= seriesMax) return
      const buckets = known ?? { labels, counts: bounds.map(() => 0), sum: 0, count: 0 }
      const at = bounds.findIndex((bound) => value <= bound)
      if (at >= 0) buckets.counts[at] = (buckets.counts[at] ?? 0) + 1
      buckets.sum += value
      buckets.count += 1
      if (known === undefined) series.set(key, buckets)
    },
    text: () =>
      head(name, help, 'histogram') +
      [...series.values()].map((buckets) => bucketsText(name, buckets, bounds)).join(''),
  }
}

/** Buckets add up: each counts what is below its bound. */
function bucketsText(
  name: string,
  { labels, counts, sum, count }: Buckets,
  bounds: readonly number[],
): string {
  let below = 0
  const lines = bounds.map(
    (bound, index) =>
      `${name}_bucket${labelText({ ...labels, le: numberText(bound) })} ${(below += counts[index] ?? 0)}\n`,
  )
  return `${lines.join('')}${name}_bucket${labelText({ ...labels, le: '+Inf' })} ${count}\n${name}_sum${labelText(labels)} ${numberText(sum)}\n${name}_count${labelText(labels)} ${count}\n`
}

/** One value as it is now. */
export const gaugeText = (
  name: string,
  help: string,
  values: readonly (readonly [Labels, number])[],
  type: 'gauge' | 'counter' = 'gauge',
): string =>
  head(name, help, type) +
  values.map(([labels, value]) => `${name}${labelText(labels)} ${numberText(value)}\n`).join('')

/** Keeps names apart up to a number of them; all later ones are "other". */
export function boundedNames(namesMax: number): (name: string) => string {
  const names = new Set<string>()
  return (name) => {
    if (names.has(name)) return name
    if (names.size >= namesMax) return 'other'
    names.add(name)
    return name
  }
}
