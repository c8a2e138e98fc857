/** `{{task}}`, `{{input.path}}`, `{{result.output}}` and the like, in texts and in the inputs of tools. */
import { parseJson } from '../../model/bounded-json.ts'
import type { Json } from '../../model/json.ts'
import type { ScriptState } from './script.ts'
import { isRefusal } from '../../model/refusal.ts'

const roots = ['agent', 'task', 'prompt', 'input', 'iteration', 'result', 'results'] as const

const isRoot = (name: string): name is (typeof roots)[number] => (roots as readonly string[]).includes(name)

const holes = /\{\{([^{}]*)\}\}/g
const onlyHole = /^\{\{([^{}]*)\}\}$/

/** Why a text is not a template, or null. Found when a script is read, not in the middle of a turn. */
export function templateProblem(text: string): string | null {
  for (const [hole, path = ''] of text.matchAll(holes)) {
    const root = path.trim().split('.')[0] ?? ''
    if (!isRoot(root))
      return `${hole} is not known; the known ones are ${roots.map((name) => `{{${name}}}`).join(', ')}`
  }
  return null
}

/** A path that leads nowhere gives an empty text. */
export function fillText(template: string, state: ScriptState): string {
  if (!template.includes('{{')) return template
  return template.replaceAll(holes, (_, path: string) => {
    const value = valueAt(path, state)
    return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  })
}

/** A text that is only one hole becomes the value itself, so that objects are handed on as objects. */
export function fillJson(template: Json, state: ScriptState): Json {
  if (typeof template === 'string') {
    const path = onlyHole.exec(template)?.[1]
    return path === undefined ? fillText(template, state) : (valueAt(path, state) ?? '')
  }
  if (template === null || typeof template !== 'object') return template
  if (Array.isArray(template)) return template.map((part) => fillJson(part, state))
  return Object.fromEntries(Object.entries(template).map(([name, part]) => [name, fillJson(part, state)]))
}

function valueAt(path: string, state: ScriptState): Json | undefined {
  const [root, ...names] = path.trim().split('.')
  let value = readRoot(root ?? '', state)
  for (const name of names) value = readField(value, name)
  return value
}

function readRoot(root: string, state: ScriptState): Json | undefined {
  if (!isRoot(root)) return undefined
  if (root === 'result') return state.results.at(-1)?.value
  return root === 'results' ? state.results.map((result) => result.value) : state[root]
}

/** Results can be JSON as text; a path into one reads it. */
function readField(value: Json | undefined, name: string): Json | undefined {
  const parsed = typeof value === 'string' ? parseJson(value, 'result') : { value }
  const holder = isRefusal(parsed) ? null : parsed.value
  if (holder === null || typeof holder !== 'object' || !Object.hasOwn(holder, name)) return undefined
  return (holder as Record<string, Json>)[name]
}
