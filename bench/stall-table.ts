/** What was measured, as a table of the worst input of each route and tool. */
export type Measured = { what: string; input: string; status: string; beyondMs: number }

/** The worst input of each. */
function pickWorst(measured: readonly Measured[]): Measured[] {
  const worst = new Map<string, Measured>()
  for (const one of measured)
    if (one.beyondMs >= (worst.get(one.what)?.beyondMs ?? 0)) worst.set(one.what, one)
  return [...worst.values()]
}

export const cell = (ms: number): string => (Number.isFinite(ms) ? ms.toFixed(1) : '–')

export function stallTable(measured: readonly Measured[]): string {
  const rows = pickWorst(measured).map(({ what, input, status, beyondMs }) => {
    const inputs = measured.filter((one) => one.what === what).length
    return `| ${[`\`${what}\``, inputs, input, status, cell(beyondMs)].join(' | ')} |`
  })
  return [
    '| route or tool | inputs | the worst of them | answer | longest stall beyond control, ms |',
    '| --- | ---: | --- | --- | ---: |',
    ...rows,
  ].join('\n')
}
