/** A planted bug: the answer is given, and the commit is not made. */
export class EarlyYes extends Error {
  readonly value: unknown
  constructor(value: unknown) {
    super('answered before the commit')
    this.value = value
  }
}
