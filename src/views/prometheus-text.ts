/** Counters, gauges and histograms in the text format of Prometheus (version 0.0.4). */

type Labels = Readonly<Record<string, string>>
type Metric = { text(): string }
type Counter = Metric & { add(labels: Labels, by?: number): void }
type Histogram = Metric & { observe(labels: Labels, value: number): void }

/** R11: further label sets are dropped. Bound names that others choose before you use them as labels. */
const seriesMax = 5000

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
const renderLabels = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
/** Identifies a series of one metric. Escaping waits until the metrics are read. */
const makeKey = (labels: Labels): string => {
  let key = ''
  for (const name in labels) key += `${labels[name]}\n`
  return key
}
const renderNumber = (value: number): string =>
  value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value)
const renderHead = (name: string, help: string, type: string): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`

const renderValue = (name: string, labels: Labels, value: number): string =>
  `${name}${renderLabels(labels)} ${renderNumber(value)}\n`

export function counter(name: string, help: string): Counter {
  const series = new Map<string, { labels: Labels; value: number }>()
  return {
    add(labels, by = 1) {
      const key = makeKey(labels)
      const known = series.get(key)
      if (known !== undefined) known.value += by
      else if (series.size < seriesMax) series.set(key, { labels, value: by })
    },
    text: () =>
      renderHead(name, help, 'counter') +
      Array.from(series.values(), ({ labels, value }) => renderValue(name, labels, value)).join(''),
  }
}

type Buckets = { labels: Labels; counts: number[]; sum: number; count: number }

export function histogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const series = new Map<string, Buckets>()
  return {
    observe(labels, value) {
      const key = makeKey(labels)
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
      renderHead(name, help, 'histogram') +
      [...series.values()].map((buckets) => renderBuckets(name, buckets, bounds)).join(''),
  }
}

/** Buckets add up: each counts what is below its bound. */
function renderBuckets(
  name: string,
  { labels, counts, sum, count }: Buckets,
  bounds: readonly number[],
): string {
  let below = 0
  const lines = bounds.map((bound, index) => {
    below += counts[index] ?? 0
    return renderValue(`${name}_bucket`, { ...labels, le: renderNumber(bound) }, below)
  })
  return [
    ...lines,
    renderValue(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    renderValue(`${name}_sum`, labels, sum),
    renderValue(`${name}_count`, labels, count),
  ].join('')
}

/** A value as it is now, or one for each set of labels. */
export const renderGauge = (
  name: string,
  help: string,
  values: number | readonly (readonly [Labels, number])[],
): string =>
  // Prometheus wants this ending on counters, and on nothing else.
  renderHead(name, help, name.endsWith('_total') ? 'counter' : 'gauge') +
  (typeof values === 'number'
    ? renderValue(name, {}, values)
    : values.map(([labels, value]) => renderValue(name, labels, value)).join(''))

/** Keeps names apart up to a number of them; all later ones are "other". */
export function boundedNames(namesMax: number, names = new Set<string>()): (name: string) => string {
  return (name) => {
    if (names.has(name)) return name
    if (names.size >= namesMax) return 'other'
    names.add(name)
    return name
  }
}
