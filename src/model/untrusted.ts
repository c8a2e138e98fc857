/** A configuration that was found and that nobody has agreed to: nothing in it is used. */
export type UntrustedProject = {
  /** The configuration file. */
  file: string
  /** `changed`: an earlier version of it was agreed to. */
  state: 'new' | 'changed'
  /** The agents that it would define. */
  agents: readonly string[]
}

export const whyUntrusted: Readonly<Record<UntrustedProject['state'], string>> = {
  new: 'nobody has agreed to it yet',
  changed: 'it has changed since a person agreed to it',
}
