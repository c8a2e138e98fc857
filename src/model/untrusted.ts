/** A configuration that was found and is not used: nobody has agreed to it, or it has a mistake. */
export type UntrustedProject = {
  /** The configuration file. */
  file: string
  /** `changed`: an earlier version of it was agreed to. `broken`: it was agreed to, and has a mistake. */
  state: 'new' | 'changed' | 'broken'
  /** The agents that it would define; of a broken one nobody knows. */
  agents: readonly string[]
  /** The mistake of a broken one. */
  problem?: string | null
}

export const whyUntrusted: Readonly<Record<UntrustedProject['state'], string>> = {
  new: 'nobody has agreed to it yet',
  changed: 'it has changed since a person agreed to it',
  broken: 'it has a mistake',
}

/** What a person does about it: agreeing again does not correct a mistake. */
export const cureUntrusted = (state: string): string =>
  state === 'broken' ? 'correct it' : 'run "tieline trust"'

export const explainUntrusted = ({ state, problem }: UntrustedProject): string =>
  state === 'broken' && problem != null ? `${whyUntrusted.broken}: ${problem}` : whyUntrusted[state]
