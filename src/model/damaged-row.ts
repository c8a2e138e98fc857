/** A row of the log that cannot be read as events. What it recorded is missing; everything else goes on. */
export class DamagedRow extends Error {
  override readonly name = 'DamagedRow'
  readonly row: number
  readonly why: string
  constructor(row: number, why: string, flow: string | null = null, options?: ErrorOptions) {
    const whose = flow === null ? '' : `, which belongs to ${flow},`
    super(
      `row ${row} of the log${whose} cannot be read: ${why}. What it recorded is missing, ` +
        `and everything else goes on. Run "tieline check" to see what is wrong.`,
      options,
    )
    this.row = row
    this.why = why
  }
}
