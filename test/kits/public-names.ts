/** Which names an entry point of the package exports, and which its types mention without exporting them. */
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseAst } from 'rolldown/parseAst'

type Node = { type: string; [field: string]: unknown }
/** Where a name is declared. */
type Place = { file: string; name: string }
type Declarations = {
  declared: Map<string, Node[]>
  imported: Map<string, Place>
  exported: Map<string, Place>
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
const readName = (node: unknown): string => (isNode(node) ? String(node['name'] ?? node['value'] ?? '') : '')

function* children(node: Node): Generator<Node> {
  for (const value of Object.values(node))
    if (Array.isArray(value)) yield* value.filter(isNode)
    else if (isNode(value)) yield value
}

function* descendants(node: Node): Generator<Node> {
  yield node
  for (const child of children(node)) yield* descendants(child)
}

export class PublicNames {
  readonly #files = new Map<string, Declarations>()
  readonly #root: string
  constructor(root: string) {
    this.#root = root
  }

  /** By name, where each is declared. */
  list(entry: string): Map<string, string> {
    const { exported } = this.#read(join(this.#root, entry))
    return new Map([...exported].map(([name, place]) => [name, this.#key(this.#resolve(place))]))
  }

  /**
   * One line for each name that a public type mentions and none of `entries` exports. Throws where the file that
   * declares it is not there.
   */
  findHidden(entry: string, entries: readonly string[] = [entry]): string[] {
    const known = new Set(entries.flatMap((one) => [...this.list(one).values()]))
    const { exported } = this.#read(join(this.#root, entry))
    const hidden = [...exported].flatMap(([name, place]) =>
      this.#mentions(this.#resolve(place))
        .map((mentioned) => this.#key(mentioned))
        .filter((key) => !known.has(key))
        .map((key) => `${name} mentions ${key}`),
    )
    return [...new Set(hidden)].toSorted()
  }

  #key({ file, name }: Place): string {
    return `${relative(this.#root, file)}#${name}`
  }

  #resolve(place: Place): Place {
    const { declared, imported, exported } = this.#read(place.file)
    if (declared.has(place.name)) return place
    const next = imported.get(place.name) ?? exported.get(place.name)
    return next === undefined || next.file === place.file ? place : this.#resolve(next)
  }

  #mentions({ file, name }: Place): Place[] {
    const { declared, imported } = this.#read(file)
    return (declared.get(name) ?? []).flatMap((node) => {
      const all = [...descendants(node)]
      const own = new Set(
        all.filter(({ type }) => type === 'TSTypeParameter').map((one) => readName(one['name'])),
      )
      const named = all.flatMap(readReference).filter((one) => !own.has(one))
      const places = named.flatMap((one): Place[] => {
        const place = imported.get(one)
        if (place !== undefined) return [this.#resolve(place)]
        return declared.has(one) ? [{ file, name: one }] : []
      })
      const inline = all
        .filter(({ type }) => type === 'TSImportType')
        .map((one) => ({ source: readName(one['source']), name: readName(one['qualifier']) }))
        .filter(({ source }) => source.startsWith('.'))
        .map((one) => this.#resolve({ file: toDeclarations(file, one.source), name: one.name }))
      return [...places, ...inline]
    })
  }

  #read(file: string): Declarations {
    const known = this.#files.get(file)
    if (known !== undefined) return known
    const read: Declarations = { declared: new Map(), imported: new Map(), exported: new Map() }
    this.#files.set(file, read)
    const { body } = parseAst(readFileSync(file, 'utf8'), { lang: 'dts' }) as unknown as { body: Node[] }
    for (const node of body) readStatement(file, node, read)
    return read
  }
}

/** The name that a type, a `typeof` or a class refers to; of `a.b` the first part. */
function readReference(node: Node): string[] {
  const target = node['typeName'] ?? node['exprName'] ?? node['superClass']
  const heritage = node.type === 'TSInterfaceHeritage' ? node['expression'] : undefined
  let name = target ?? heritage
  while (isNode(name) && name.type === 'TSQualifiedName') name = name['left']
  return isNode(name) && name.type === 'Identifier' ? [readName(name)] : []
}

const toDeclarations = (from: string, specifier: string): string =>
  join(dirname(from), specifier.replace(/\.[jt]s$/, '.d.ts'))

function readStatement(file: string, node: Node, read: Declarations): void {
  const source = readName(node['source'])
  const target = source.startsWith('.') ? toDeclarations(file, source) : null
  const specifiers = (node['specifiers'] as Node[] | undefined) ?? []
  if (node.type === 'ImportDeclaration' && target !== null)
    for (const one of specifiers)
      read.imported.set(readName(one['local']), { file: target, name: readName(one['imported']) })
  if (node.type === 'ExportNamedDeclaration')
    for (const one of specifiers)
      read.exported.set(readName(one['exported']), { file: target ?? file, name: readName(one['local']) })
  if (node.type === 'ExportAllDeclaration') throw new Error(`${file}: names are exported one by one`)
  const declaration = isNode(node['declaration']) ? node['declaration'] : node
  for (const name of declaredNames(declaration)) {
    read.declared.set(name, [...(read.declared.get(name) ?? []), declaration])
    if (node.type === 'ExportNamedDeclaration') read.exported.set(name, { file, name })
  }
  if (node.type === 'ExportDefaultDeclaration')
    read.exported.set('default', { file, name: readName(node['declaration']) })
}

function declaredNames(node: Node): string[] {
  if (node.type === 'VariableDeclaration')
    return ((node['declarations'] as Node[] | undefined) ?? []).map((one) => readName(one['id']))
  const isDeclaration = /^(?:TSTypeAlias|TSInterface|Class|Function|TSDeclareFunction)/.test(node.type)
  return isDeclaration ? [readName(node['id'])] : []
}
