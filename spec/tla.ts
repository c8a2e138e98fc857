/**
 * Runs the TLA+ text with npm's tla-checker, for safety only: its liveness verdicts are not to be trusted
 * (0.9.0), so configurations with properties are left to TLC and to our own checker.
 * A module that extends one of ours is given to it as one text.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { initSync, check_spec_with_cfg, explore_next } from 'tla-checker'

export type TlaVerdict = {
  success: boolean
  states: number
  error: string | null
  invariant: string
  warnings: readonly string[]
}
type Raw = {
  success: boolean
  states_explored: number
  error_type: string | null
  error_message: string | null
  warnings: readonly string[]
}

const statesMax = 400_000
const stepsMax = 10_000
const here = (path: string): URL => new URL(path, import.meta.url)
const read = (path: string): string => readFileSync(here(path), 'utf8')

let loaded = false
function load(): void {
  if (loaded) return
  initSync({ module: readFileSync(new URL('tla_checker_bg.wasm', import.meta.resolve('tla-checker'))) })
  loaded = true
}

const stripFrame = (text: string): string => text.replace(/^-+ MODULE.*\n/m, '').replace(/^=+\s*$/m, '')

/** The checker reads the text anew for every question, so comments are left out. */
const stripComments = (text: string): string =>
  text
    .replaceAll(/\(\*[\s\S]*?\*\)/g, '')
    .replaceAll(/\\\*.*$/gm, '')
    .replaceAll(/\n\s*\n/g, '\n')

const modules: Readonly<Record<string, string>> = {
  activation: 'activation/Activation.tla',
  cluster: 'cluster/Cluster.tla',
  mail: 'mail/Mail.tla',
}

export const moduleText = (folder: string): string =>
  stripComments(
    folder === 'calls'
      ? read('calls/Properties.tla').replace(/^EXTENDS Calls$/m, () => stripFrame(read('calls/Calls.tla')))
      : read(modules[folder] ?? ''),
  )

/** The protocol without its properties. */
export const protocolText = (): string => stripComments(read('calls/Calls.tla'))

export const configText = (folder: string, name: string): string => read(`${folder}/${name}.cfg`)

/** Configurations of safety; one with a property is for TLC. */
export const listConfigs = (folder: string): string[] =>
  readdirSync(here(folder))
    .filter((file) => file.endsWith('.cfg'))
    .map((file) => file.slice(0, -4))
    .filter((name) => !/^PROPERTY/m.test(configText(folder, name)))
    .sort()

export function checkTla(folder: string, name: string): TlaVerdict {
  load()
  const raw = JSON.parse(
    check_spec_with_cfg(moduleText(folder), configText(folder, name), '{}', statesMax, stepsMax, true, false),
  ) as Raw
  const message = raw.error_message ?? ''
  return {
    success: raw.success,
    states: raw.states_explored,
    error: raw.error_type,
    warnings: raw.warnings,
    invariant: /[Ii]nvariant[^\w]*(?:violated:?\s*)?[`'"]?(\w+)/.exec(message)?.[1] ?? message,
  }
}

/** The successors of one state, as the TLA+ text has them. */
export function listSuccessors(text: string, config: string, state: unknown): unknown[] {
  load()
  const answer = JSON.parse(explore_next(text, config, '{}', JSON.stringify(state))) as {
    ok: boolean
    error?: string
    transitions: { state: { json: unknown } }[]
  }
  if (!answer.ok) throw new Error(answer.error)
  return answer.transitions.map((transition) => transition.state.json)
}
