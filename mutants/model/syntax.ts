/** The part of a syntax tree that the mutator looks at. */
export type Node = {
  type: string
  start: number
  end: number
  operator?: string
  left?: Node
  right?: Node
  argument?: Node | null
  test?: Node | null
  consequent?: Node
  alternate?: Node | null
  callee?: Node
  object?: Node
  property?: Node & { name?: string }
  arguments?: Node[]
  elements?: (Node | null)[]
  expression?: Node | boolean
  body?: Node | Node[]
  key?: Node
  value?: unknown
  raw?: string
  regex?: unknown
  name?: string
  computed?: boolean
  optional?: boolean
  shorthand?: boolean
  static?: boolean
  kind?: string
  method?: boolean
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

/** Types say nothing at run time, and names and addresses are no expressions. */
const skipped = new Set([
  'typeAnnotation',
  'typeParameters',
  'typeArguments',
  'returnType',
  'superTypeArguments',
  'implements',
  'id',
  'label',
  'source',
  'params',
  'param',
  'superClass',
  'attributes',
  'specifiers',
])

const transparent = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'])

/** The expressions and statements directly inside a node, in order. */
export function childrenOf(node: Node): Node[] {
  if (transparent.has(node.type)) return isNode(node.expression) ? [node.expression] : []
  if (node.type.startsWith('TS') || node.type.startsWith('Import')) return []
  const found = Object.entries(node).flatMap(([name, value]): Node[] => {
    if (skipped.has(name)) return []
    if (name === 'key' && node.computed !== true) return []
    if (name === 'property' && node.computed !== true) return []
    if (name === 'value' && node.shorthand === true) return []
    // What is assigned to is a place and no value.
    if (name === 'left' && (node.type === 'AssignmentExpression' || node.type.startsWith('ForO'))) return []
    if (name === 'left' && node.type === 'ForInStatement') return []
    if (name === 'argument' && (node.type === 'UpdateExpression' || node.operator === 'delete')) return []
    return (Array.isArray(value) ? value : [value]).filter(isNode)
  })
  return found.sort((a, b) => a.start - b.start)
}

export const isFunction = ({ type }: Node): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'

export const isLoop = ({ type }: Node): boolean => /^(For|ForIn|ForOf|While|DoWhile)Statement$/.test(type)
