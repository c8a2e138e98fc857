/** The rules of the style guide that can be checked by reading one file. */
import { entryPoints, isLayered, withoutComments, type SourceFile } from './layers.ts'

export const linesMax = 300

export const columnsMax = 120

export function fileNameProblems({ path }: SourceFile): string[] {
  const parts = path.split('/')
  const name = parts.at(-1) ?? ''
  const banned =
    /^(types|utils?|helpers?|common|misc|constants|interfaces)\.[cm]?[jt]sx?$/.test(name) ||
    parts.some((part) => /^(shared|utils?|helpers?|common)$/.test(part))
  if (banned) return [`${path}: the name says nothing about what is in it`]
  if (name === 'index.ts' && path.startsWith('src/') && !entryPoints.includes(path))
    return [`${path}: only ${entryPoints.join(', ')} gather the names of others`]
  if (/(^|[-.])v\d+([-.]|$)/.test(name)) return [`${path}: versions do not belong into names`]
  return /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/.test(name) ? [] : [`${path}: file names are kebab-case`]
}

export function identifierProblems({ path, text }: SourceFile): string[] {
  const declared = [
    ...withoutComments(text).matchAll(
      /\b(class|interface|type|enum|function|const|let)\s+([A-Za-z_$][\w$]*)/g,
    ),
  ]
  return declared.flatMap(([, kind = '', name = '']) => {
    const isType = ['class', 'interface', 'type', 'enum'].includes(kind)
    const banned =
      kind === 'enum' ||
      /Managers?$|^Manager|^(Default|Base)[A-Z]|[a-z]V[0-9]+$/.test(name) ||
      (isType && /^I[A-Z][a-z]/.test(name))
    return banned ? [`${path}: ${kind} ${name}`] : []
  })
}

export const barrelProblems = ({ path, text }: SourceFile): string[] =>
  isLayered(path) && !entryPoints.includes(path)
    ? [
        ...withoutComments(text).matchAll(
          /\bexport\s+(?:type\s+)?(?:\*|\{[^}]*\})[^;\n]*?\bfrom\s*['"](\.[^'"]*)['"]/g,
        ),
      ].map((match) => `${path} passes on ${match[1]}`)
    : []

/**
 * Time and chance come through ports, or the simulator would not rule them. Lint says the same; this also
 * holds where a comment switched lint off.
 */
const ambient: readonly RegExp[] = [
  /\bDate\.now\b/,
  /\bnew Date\(\s*\)/,
  /\bMath\.random\b/,
  /\bset(?:Timeout|Interval|Immediate)\s*\(/,
  /\bperformance\.\w/,
  /\brandomUUID\b/,
  /\bglobalThis\b/,
  /['"](?:node:)?timers(?:\/promises)?['"]/,
  /\bAbortSignal\.timeout\b/,
  /\bprocess\.hrtime\b/,
]

/** The client also runs in browsers, where there is no runtime to give it a clock. */
const ambientFiles = [
  'src/runtime/kernel/system-clock.ts',
  'src/runtime/kernel/next-round.ts',
  'src/runtime/kernel/system-ids.ts',
  'src/client/surroundings.ts',
]

export function ambientProblems({ path, text }: SourceFile): string[] {
  if (!isLayered(path) || ambientFiles.includes(path)) return []
  const code = path.startsWith('src/store/')
    ? withoutComments(text).replaceAll(/\bsetImmediate\b/g, '')
    : withoutComments(text)
  return ambient.flatMap((pattern) => (pattern.test(code) ? [`${path}: ${code.match(pattern)?.[0]}`] : []))
}

/**
 * On an empty stack a throw ends the process. What only settles a promise, and a worker's own file (its
 * thread ends, and its owner is told), cannot do that.
 */
export function listenerProblems({ path, text }: SourceFile): string[] {
  if (!isLayered(path) || path.startsWith('src/cli/') || path.endsWith('-worker.ts')) return []
  const bare =
    /\.(?:on|once)\(\s*'[\w-]+',(?!\s*(?:contained\(|(?:resolve|end)\)|\(\) => undefined\)))\s*[^\n]{0,60}/g
  return [...withoutComments(text).matchAll(bare)].map(([found]) => `${path}: ${found}`)
}

export const widthProblems = ({ path, text }: SourceFile): string[] =>
  /\.tsx?$/.test(path)
    ? text.split('\n').flatMap((line, index) => {
        const columns = Array.from(line).length
        return columns > columnsMax ? [`${path}:${index + 1} has ${columns} columns`] : []
      })
    : []

export const sizeProblems = ({ path, text }: SourceFile): string[] => {
  const lines = text.replace(/\n$/, '').split('\n').length
  return lines > linesMax ? [`${path} has ${lines} lines`] : []
}

const unfinished = /\b(?:TODO|FIXME|XXX)\b/

export const unfinishedProblems = ({ path, text }: SourceFile): string[] =>
  unfinished.test(text) ? [`${path}: ${text.match(unfinished)?.[0]}`] : []

const leftOut = /\b(?:test|it|describe|suite|bench)(?:\.\w+)*\.(?:skip|only|todo)\b/

export const leftOutProblems = ({ path, text }: SourceFile): string[] =>
  leftOut.test(withoutComments(text)) ? [`${path}: ${text.match(leftOut)?.[0]}`] : []
