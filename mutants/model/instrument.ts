/**
 * Puts every mutant of a file into the file: `seen(7) ? changed : original`. One process can then try them one
 * after the other, without loading anything again.
 */
import { parseSync } from 'rolldown/utils'
import { alternativesOf, type Alternative } from './alternatives.ts'
import { childrenOf, isFunction, isLoop, type Node } from './syntax.ts'

export type Mutant = {
  id: number
  file: string
  line: number
  kind: string
  original: string
  changed: string
  /** It stands at the top of its module, which runs only once. */
  isStatic: boolean
}

const shownMax = 120

export function instrument(
  file: string,
  source: string,
  firstId: number,
): { text: string; mutants: Mutant[] } {
  const { program, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message ?? ''}`)
  const mutants: Mutant[] = []
  const lineOf = makeLineOf(source)

  const add = (node: Node, inFunction: boolean, { kind, text }: Alternative): number => {
    const id = firstId + mutants.length
    mutants.push({
      id,
      file,
      line: lineOf(node.start),
      kind,
      original: shorten(source.slice(node.start, node.end)),
      changed: shorten(text),
      isStatic: !inFunction,
    })
    return id
  }

  const withChildren = (node: Node, inFunction: boolean): string => {
    let [text, at] = ['', node.start]
    for (const child of childrenOf(node)) {
      text += source.slice(at, child.start) + emit(child, inFunction, node)
      at = child.end
    }
    return text + source.slice(at, node.end)
  }

  const emit = (node: Node, wasInFunction: boolean, parent: Node): string => {
    const inFunction = wasInFunction || isFunction(node) || isField(node)
    const inner = withChildren(node, inFunction)
    if (node.type === 'Property') return emitProperty(node, inner, inFunction, parent)
    if (node.type === 'BlockStatement') {
      if (isFunction(parent)) return emitBody(node, inner)
      return isLoop(parent) ? `{ $mutants.tick(); ${inner} }` : inner
    }
    if (isLoop(parent) && parent.body === node) return `{ $mutants.tick(); ${inner} }`
    if (node.type === 'ExpressionStatement') return emitStatement(node, inner, inFunction)
    if (isTest(node, parent)) return emitTest(node, inner, inFunction, parent)
    return choose(node, inner, inFunction, alternativesOf(node, source, !inFunction))
  }

  const choose = (node: Node, inner: string, inFunction: boolean, found: Alternative[]): string =>
    found.reduce(
      (text, alternative) =>
        `($mutants.seen(${add(node, inFunction, alternative)}) ? (${alternative.text}) : (${text}))`,
      inner,
    )

  /** A condition may also be taken for met or not met, whatever it is about. */
  const emitTest = (node: Node, inner: string, inFunction: boolean, parent: Node): string => {
    const all = alternativesOf(node, source, !inFunction)
    const fixed = isLoop(parent) ? ['false'] : ['true', 'false']
    return choose(node, inner, inFunction, [...all, ...fixed.map((text) => ({ kind: text, text }))])
  }

  const emitStatement = (node: Node, inner: string, inFunction: boolean): string => {
    const what = (node.expression as Node).type
    // In braces: what begins with a parenthesis would belong to the line before.
    if (!/^(Call|Await|Assignment|Update|Chain)Expression$/.test(what)) return `{ ${inner} }`
    const id = add(node, inFunction, { kind: 'statement left out', text: '' })
    // In braces: an `else` that follows belongs to the `if` around it.
    return `{ if (!$mutants.seen(${id})) { ${inner} } }`
  }

  const emitBody = (node: Node, inner: string): string => {
    if ((node.body as Node[]).length === 0) return inner
    const id = add(node, true, { kind: 'empty function', text: '{}' })
    return `{ if ($mutants.seen(${id})) return; ${inner.slice(1)}`
  }

  /** A field of an object may get lost. */
  const emitProperty = (node: Node, inner: string, inFunction: boolean, parent: Node): string => {
    if (parent.type !== 'ObjectExpression' || !inFunction || node.method === true || node.kind !== 'init')
      return inner
    const value = node.value as Node
    if (isFunction(value)) return inner
    const id = add(node, inFunction, { kind: 'field left out', text: '' })
    if (node.shorthand === true) return `${inner}: $mutants.seen(${id}) ? undefined : ${inner}`
    const key = source.slice(node.start, value.start)
    return `${key}$mutants.seen(${id}) ? undefined : (${inner.slice(key.length)})`
  }

  return { text: withChildren(program as unknown as Node, false), mutants }
}

const isField = (node: Node): boolean => node.type === 'PropertyDefinition' && node.static !== true

const isTest = (node: Node, parent: Node): boolean =>
  parent.test === node && (parent.type === 'IfStatement' || isLoop(parent))

const shorten = (text: string): string => {
  const flat = text.replaceAll(/\s+/g, ' ')
  return flat.length > shownMax ? `${flat.slice(0, shownMax)}…` : flat
}

function makeLineOf(source: string): (at: number) => number {
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  return (at) => starts.findLastIndex((start) => start <= at) + 1
}
