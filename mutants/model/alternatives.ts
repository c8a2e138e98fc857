/** What a mutator puts in the place of an expression: the texts of its alternatives, each with a name. */
import type { Node } from './syntax.ts'

export type Alternative = { kind: string; text: string }

const swapped: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&': ['|'],
  '|': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
}

/** Methods whose call can be left out, and those that have an opposite. */
const dropped = new Set([
  'slice',
  'filter',
  'trim',
  'sort',
  'toSorted',
  'toReversed',
  'reverse',
  'toLowerCase',
])
const opposite: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  min: 'max',
  max: 'min',
  findLast: 'find',
  ceil: 'floor',
  floor: 'ceil',
}

/** `isConstant`: it is part of a table at the top of a module, whose numbers are settings and not logic. */
export function alternativesOf(node: Node, source: string, isConstant: boolean): Alternative[] {
  const text = (part: Node | null | undefined): string =>
    part === null || part === undefined ? '' : source.slice(part.start, part.end)
  switch (node.type) {
    case 'BinaryExpression':
      return (swapped[node.operator ?? ''] ?? []).map((operator) => ({
        kind: operator,
        text: `${text(node.left)} ${operator} ${text(node.right)}`,
      }))
    case 'LogicalExpression':
      return swapLogical(node, text)
    case 'UnaryExpression':
      return node.operator === '!' || node.operator === '-'
        ? [{ kind: `without ${node.operator}`, text: text(node.argument) }]
        : []
    case 'ConditionalExpression':
      return [
        { kind: 'always', text: text(node.consequent) },
        { kind: 'never', text: text(node.alternate as Node) },
      ]
    case 'CallExpression':
      return changeCall(node, text)
    case 'ChainExpression':
      return dropOptional(node, source)
    case 'ArrayExpression':
      return (node.elements?.length ?? 0) > 0 ? [{ kind: 'empty', text: '[]' }] : []
    case 'TemplateLiteral':
      return [{ kind: 'empty text', text: "''" }]
    case 'Literal':
      return changeLiteral(node, isConstant)
    default:
      return []
  }
}

function swapLogical({ operator, left, right }: Node, text: (part: Node) => string): Alternative[] {
  const [one, other] = [text(left as Node), text(right as Node)]
  if (operator === '??')
    return [
      { kind: 'left only', text: one },
      { kind: 'right only', text: other },
    ]
  return [
    { kind: operator === '&&' ? '||' : '&&', text: `(${one}) ${operator === '&&' ? '||' : '&&'} (${other})` },
  ]
}

function changeCall(node: Node, text: (part: Node) => string): Alternative[] {
  const { callee } = node
  if (
    callee?.type !== 'MemberExpression' ||
    callee.computed === true ||
    node.optional === true ||
    callee.optional === true
  )
    return []
  const object = callee.object as Node
  const name = callee.property?.name ?? ''
  const found: Alternative[] = []
  if (dropped.has(name)) found.push({ kind: `without ${name}`, text: text(object) })
  const other = Object.hasOwn(opposite, name) ? opposite[name] : undefined
  if (other !== undefined)
    found.push({
      kind: other,
      text: `${text(object)}.${other}(${(node.arguments ?? []).map(text).join(', ')})`,
    })
  return found
}

/** Without the first question mark: a null there would throw. */
function dropOptional(node: Node, source: string): Alternative[] {
  const text = source.slice(node.start, node.end)
  const changed = text.replace(/\?\.(?=[[(])/, '').replace(/\?\.(?=[A-Za-z_$#])/, '.')
  return changed === text ? [] : [{ kind: 'without ?.', text: changed }]
}

function changeLiteral({ value, raw = '', regex }: Node, isConstant: boolean): Alternative[] {
  if (regex !== undefined && regex !== null) return changePattern(raw)
  if (typeof value === 'boolean') return [{ kind: String(!value), text: String(!value) }]
  if (typeof value === 'string')
    return [value === '' ? { kind: 'some text', text: "'mutant'" } : { kind: 'empty text', text: "''" }]
  if (typeof value === 'number' && !isConstant) return [{ kind: '+ 1', text: `(${raw} + 1)` }]
  return []
}

function changePattern(raw: string): Alternative[] {
  const body = raw.slice(1, raw.lastIndexOf('/'))
  const flags = raw.slice(raw.lastIndexOf('/') + 1)
  const found: Alternative[] = []
  if (body.startsWith('^') && body.length > 1)
    found.push({ kind: 'without ^', text: `/${body.slice(1)}/${flags}` })
  if (body.endsWith('$') && !body.endsWith('\\$') && body.length > 1)
    found.push({ kind: 'without $', text: `/${body.slice(0, -1)}/${flags}` })
  return found
}
