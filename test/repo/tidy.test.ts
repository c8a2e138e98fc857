/**
 * The style guide and the layers of the design, as tests. Each rule is also run on a planted violation, so
 * that a rule that checks nothing is noticed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Event } from '../../src/model/event.ts'

type SourceFile = { path: string; text: string }
type Rule = {
  says: string
  problems: (file: SourceFile) => string[]
  planted: readonly SourceFile[]
  clean: readonly SourceFile[]
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const folders = ['src', 'test', 'bench', 'examples', 'hostile', 'scripts', 'sim', 'web', 'bin']
const linesMax = 600

/** What each layer may import, besides itself. An entry is a layer, or one file of a layer. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  model: [],
  wire: ['model'],
  runtime: ['model', 'wire'],
  store: [
    'src/runtime/kernel/ports.ts',
    'src/runtime/kernel/store-port.ts',
    'src/runtime/kernel/lists-port.ts',
    'src/runtime/kernel/store-health.ts',
    'model',
    'wire',
  ],
  tools: ['runtime', 'model', 'wire', 'src/own-files.ts'],
  adapters: ['runtime', 'tools', 'client', 'model', 'wire', 'src/own-files.ts'],
  server: ['runtime', 'model', 'wire', 'src/own-files.ts'],
  views: [
    'src/runtime/kernel/ports.ts',
    'src/runtime/kernel/store-port.ts',
    'src/runtime/desk/desk.ts',
    'src/runtime/desk/log.ts',
    'src/runtime/desk/mail.ts',
    'wire',
    'src/runtime/kernel/redact.ts',
    'model',
    'src/own-files.ts',
  ],
  client: ['model', 'wire'],
  cli: [
    'client',
    'model',
    'wire',
    'src/adapters/mcp/serve-stdio.ts',
    'src/define.ts',
    'src/log-care.ts',
    'src/recorded-log.ts',
    'src/open-server.ts',
    'src/open-line.ts',
    'src/config.ts',
    'src/config-problem.ts',
    'src/version.ts',
    'src/runtime/kernel/system-clock.ts',
  ],
  'src/index.ts': [
    'wire',
    'model',
    'runtime',
    'src/adapters/scripted/run-function.ts',
    'src/adapters/scripted/script.ts',
    'src/agents.ts',
    'src/config.ts',
    'src/define.ts',
    'src/tieline.ts',
    'src/line.ts',
    'src/recorded-log.ts',
    'src/store/directory.ts',
  ],
  'src/client/index.ts': ['client', 'model', 'wire'],
  'src/server/index.ts': ['src/serve.ts', 'src/server-options.ts', 'src/server/log-sink.ts'],
  'src/adapters/opencode/index.ts': ['adapters/opencode'],
  'src/tieline.ts': ['src/line.ts', 'src/open-line.ts'],
  'src/define.ts': [
    'model',
    'wire',
    'src/adapters/scripted/run-function.ts',
    'src/adapters/scripted/script.ts',
    'src/runtime/kernel/ports.ts',
    'src/runtime/kernel/store-port.ts',
    'src/tools/answer.ts',
  ],
  'src/line.ts': ['model', 'wire', 'runtime', 'src/define.ts'],
  'src/line-parts.ts': [
    'model',
    'runtime',
    'tools',
    'adapters',
    'src/agents.ts',
    'src/config.ts',
    'src/define.ts',
    'src/version.ts',
  ],
  'src/recorded-log.ts': [
    'model',
    'runtime',
    'store',
    'adapters',
    'src/agents.ts',
    'src/config.ts',
    'src/line.ts',
    'src/line-parts.ts',
    'src/version.ts',
  ],
  'src/open-line.ts': [
    'model',
    'runtime',
    'store',
    'tools',
    'adapters',
    'src/agents.ts',
    'src/config.ts',
    'src/line.ts',
    'src/line-parts.ts',
    'src/recorded-log.ts',
  ],
  'src/agents.ts': [
    'model',
    'runtime',
    'adapters',
    'src/config.ts',
    'src/config-problem.ts',
    'src/define.ts',
  ],
  'src/serve.ts': ['src/tieline.ts', 'src/open-server.ts', 'src/server-options.ts'],
  'src/server-options.ts': ['src/line.ts', 'src/server/log-sink.ts'],
  'src/server-files.ts': ['runtime', 'src/config.ts', 'src/version.ts'],
  'src/server-views.ts': ['wire', 'runtime', 'views', 'src/open-line.ts', 'src/version.ts'],
  'src/open-server.ts': [
    'model',
    'runtime',
    'adapters',
    'server',
    'views',
    'src/config.ts',
    'src/line.ts',
    'src/own-files.ts',
    'src/server-files.ts',
    'src/server-options.ts',
    'src/server-views.ts',
    'src/open-line.ts',
    'src/version.ts',
  ],
  'src/log-care.ts': ['store'],
  'src/version.ts': [],
  'src/own-files.ts': [],
  'src/config.ts': ['src/config-problem.ts', 'model'],
  'src/config-problem.ts': ['model'],
}
/** What `exports` of package.json names: they gather the names of others, and nothing else does. */
const entryPoints = [
  'src/index.ts',
  'src/client/index.ts',
  'src/server/index.ts',
  'src/adapters/opencode/index.ts',
]
const adapters = ['scripted', 'model', 'acp', 'opencode', 'a2a', 'host', 'mcp', 'letta', 'tokens', 'schemas']

/** Tests and contract suites put the real parts of several layers together. */
const isTest = (path: string): boolean => /\.test\.ts$|-contract\.ts$/.test(path)
const isLayered = (path: string): boolean => path.startsWith('src/') && !isTest(path)

/**
 * `adapters/mcp` for an adapter, since they may not know each other; the path itself for an entry point and for
 * a file at the top.
 */
function layerOf(path: string): string {
  const [, folder = '', inner = ''] = path.split('/')
  if (inner === '' || entryPoints.includes(path)) return path
  return folder === 'adapters' ? `adapters/${inner}` : folder
}

const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|[^:'"`\\])\/\/.*$/gm, '$1')

function importsOf({ path, text }: SourceFile): string[] {
  const found = withoutComments(text).matchAll(
    /(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)(['"])(\.[^'"]*)\1/g,
  )
  return [...found].map((match) => posix.join(posix.dirname(path), match[2] ?? ''))
}

function importProblems(file: SourceFile): string[] {
  if (!isLayered(file.path)) return []
  const layer = layerOf(file.path)
  const allowed = mayImport[layer.startsWith('adapters/') ? 'adapters' : layer]
  if (allowed === undefined) return [`${file.path} is in no known layer`]
  return importsOf(file)
    .filter((target) => {
      const targetLayer = layerOf(target)
      return !(
        targetLayer === layer ||
        allowed.includes(target) ||
        allowed.includes(targetLayer) ||
        (allowed.includes('adapters') && targetLayer.startsWith('adapters/'))
      )
    })
    .map((target) => `${file.path} imports ${target}`)
}

function folderProblems({ path }: SourceFile): string[] {
  if (!path.startsWith('src/')) return []
  const [, folder = '', inner = '', rest] = path.split('/')
  if (inner === '')
    return isTest(path) || path in mayImport
      ? []
      : [
          `${path}: the top of src has only ${Object.keys(mayImport)
            .filter((name) => name.endsWith('.ts'))
            .join(', ')}`,
        ]
  if (!(folder in mayImport)) return [`${path}: src/${folder} is not a known folder`]
  if (folder === 'adapters' && (rest === undefined || !adapters.includes(inner)))
    return [`${path}: not in a known adapter's folder`]
  return []
}

function fileNameProblems({ path }: SourceFile): string[] {
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

function identifierProblems({ path, text }: SourceFile): string[] {
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

const barrelProblems = ({ path, text }: SourceFile): string[] =>
  isLayered(path) && !entryPoints.includes(path)
    ? [
        ...withoutComments(text).matchAll(
          /\bexport\s+(?:type\s+)?(?:\*|\{[^}]*\})[^;\n]*?\bfrom\s*['"](\.[^'"]*)['"]/g,
        ),
      ].map((match) => `${path} passes on ${match[1]}`)
    : []

/** Time and chance come through ports, or the simulator would not rule them. Lint says the same; this also holds where a comment switched lint off. */
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
  'src/runtime/kernel/system-ids.ts',
  'src/client/surroundings.ts',
]

function ambientProblems({ path, text }: SourceFile): string[] {
  if (!isLayered(path) || ambientFiles.includes(path)) return []
  const code = path.startsWith('src/store/')
    ? withoutComments(text).replaceAll(/\bsetImmediate\b/g, '')
    : withoutComments(text)
  return ambient.flatMap((pattern) => (pattern.test(code) ? [`${path}: ${code.match(pattern)?.[0]}`] : []))
}

/** On an empty stack a throw ends the process. What only settles a promise, and a worker's own file (its thread ends, and its owner is told), cannot do that. */
function listenerProblems({ path, text }: SourceFile): string[] {
  if (!isLayered(path) || path.startsWith('src/cli/') || path.endsWith('-worker.ts')) return []
  const bare =
    /\.(?:on|once)\(\s*'[\w-]+',(?!\s*(?:contained\(|(?:resolve|end)\)|\(\) => undefined\)))\s*[^\n]{0,60}/g
  return [...withoutComments(text).matchAll(bare)].map(([found]) => `${path}: ${found}`)
}

const sizeProblems = ({ path, text }: SourceFile): string[] => {
  const lines = text.replace(/\n$/, '').split('\n').length
  return lines > linesMax ? [`${path} has ${lines} lines`] : []
}

const unfinished = /\b(?:TODO|FIXME|XXX)\b/
const unfinishedProblems = ({ path, text }: SourceFile): string[] =>
  unfinished.test(text) ? [`${path}: ${text.match(unfinished)?.[0]}`] : []

const leftOut = /\b(?:test|it|describe|suite|bench)(?:\.\w+)*\.(?:skip|only|todo)\b/
const leftOutProblems = ({ path, text }: SourceFile): string[] =>
  leftOut.test(withoutComments(text)) ? [`${path}: ${text.match(leftOut)?.[0]}`] : []

const file = (path: string, text = ''): SourceFile => ({ path, text })

const rules: readonly Rule[] = [
  {
    says: 'imports go in the direction of the layers, and adapters do not know each other',
    problems: importProblems,
    planted: [
      file('src/model/a.ts', "import type { Clock } from '../runtime/kernel/ports.ts'"),
      file('src/runtime/a.ts', "import { b } from '../tools/b.ts'"),
      file('src/store/a.ts', "import { b } from '../runtime/call.ts'"),
      file('src/tools/a.ts', "import '../store/sqlite.ts'"),
      file('src/adapters/mcp/a.ts', "const b = await import('../model/drive.ts')"),
      file('src/client/a.ts', "export { b } from '../runtime/b.ts'"),
      file('src/server/a.ts', "import { b } from '../config.ts'"),
      file('src/cli/a.ts', "import { b } from '../store/b.ts'"),
      file('src/index.ts', "import { b } from './store/b.ts'"),
      file('src/server/index.ts', "export { b } from './http.ts'"),
      file('src/client/a.ts', "import { b } from './index.ts'"),
      file('src/model/a.ts', "import { b } from '../../test/b.ts'"),
    ],
    clean: [
      file(
        'src/store/a.ts',
        "import type { Tx } from '../runtime/kernel/ports.ts'\nimport { b } from './b.ts'",
      ),
      file('src/adapters/mcp/a.ts', "import { b } from './b.ts'\nimport { c } from '../../runtime/c.ts'"),
      file('src/open-server.ts', "import { a } from './adapters/mcp/a.ts'\nimport { b } from './config.ts'"),
      file('src/cli/a.ts', "import { a } from '../open-server.ts'"),
      file('src/model/a.test.ts', "import { b } from '../store/b.ts'"),
      file('src/model/a.ts', "// from '../runtime/a.ts'\n/* import '../store/b.ts' */"),
    ],
  },
  {
    says: 'every folder of src is one of the design',
    problems: folderProblems,
    planted: [
      file('src/lib/a.ts'),
      file('src/adapters/a.ts'),
      file('src/adapters/smtp/a.ts'),
      file('src/main.ts'),
    ],
    clean: [
      file('src/open-server.ts'),
      file('src/adapters/mcp/tools.ts'),
      file('src/config.test.ts'),
      file('bench/main.ts'),
    ],
  },
  {
    says: 'file names say what is in the file',
    problems: fileNameProblems,
    planted: [
      file('src/model/types.ts'),
      file('src/model/utils.ts'),
      file('src/shared/a.ts'),
      file('test/helpers/a.ts'),
      file('src/store/index.ts'),
      file('src/model/aB.ts'),
      file('src/model/call-v2.ts'),
    ],
    clean: [
      file('src/index.ts'),
      file('src/model/call.ts'),
      file('src/tools/sub-agent.test.ts'),
      file('src/adapters/tokens/o200k.ts'),
    ],
  },
  {
    says: 'names of things are nouns of their own: no Manager, Default*, Base*, I*, V2, and no enums',
    problems: identifierProblems,
    planted: [
      'class CallManager {}',
      'const DefaultLimits = 1',
      'class BaseDriver {}',
      'interface IStore {}',
      'enum Kind {}',
      'type CallV2 = 1',
    ].map((text) => file('src/model/a.ts', text)),
    clean: [
      'const limitsDefault = 1',
      'type Ids = 1',
      'type Input = 1',
      '// class CallManager',
      'const baseUrl = 1',
      'type IO = 1',
    ].map((text) => file('src/model/a.ts', text)),
  },
  {
    says: 'names are imported from where they are declared: no barrels',
    problems: barrelProblems,
    planted: [
      file('src/model/a.ts', "export * from './b.ts'"),
      file('src/model/a.ts', "export { b } from './b.ts'"),
      file('src/model/a.ts', "export type {\n  B,\n} from './b.ts'"),
    ],
    clean: [
      file('src/index.ts', "export { b } from './b.ts'"),
      file('src/client/index.ts', "export { b } from './b.ts'"),
      file('src/adapters/tokens/a.ts', "export { b } from 'somewhere'"),
      file('src/model/a.ts', "import { b } from './b.ts'\nexport const c = b"),
    ],
  },
  {
    says: 'nothing reads the clock, sets a timer or draws a number but through a port',
    problems: ambientProblems,
    planted: [
      'Date.now()',
      'new Date()',
      'Math.random()',
      'setTimeout(f, 1)',
      'setInterval(f, 1)',
      'setImmediate(f)',
      'performance.now()',
      "import { randomUUID } from 'node:crypto'",
      'globalThis.x',
      "import 'node:timers/promises'",
      'AbortSignal.timeout(1)',
      'process.hrtime()',
    ].map((text) => file('src/tools/a.ts', text)),
    clean: [
      file('src/runtime/kernel/system-clock.ts', 'Date.now()'),
      file('src/store/a.ts', 'setImmediate(f)'),
      file('src/tools/a.test.ts', 'Date.now()'),
      file('src/tools/a.ts', '// Date.now()\nclock.now()'),
      file('bench/a.ts', 'performance.now()'),
    ],
  },
  {
    says: 'listeners of sockets, streams, children and workers contain their own faults',
    problems: listenerProblems,
    planted: [
      "ws.on('message', (data) => take(data))",
      "raw.once('close', () => leave())",
      "child.stdout.on('data', read)",
      "server.on(\n  'upgrade',\n  (request) => {})",
    ].map((text) => file('src/server/a.ts', text)),
    clean: [
      file(
        'src/server/a.ts',
        "ws.on('message', contained(broke, take))\nchild.once('exit', resolve)\nws.on('error', () => undefined)",
      ),
      file('src/cli/a.ts', "process.on('SIGINT', () => stop())"),
      file('src/tools/a-worker.ts', "port.on('message', take)"),
      file('src/server/a.test.ts', "ws.on('message', take)"),
    ],
  },
  {
    says: `no file is longer than ${linesMax} lines`,
    problems: sizeProblems,
    planted: [file('src/model/a.ts', 'x\n'.repeat(linesMax + 1))],
    clean: [file('src/model/a.ts', 'x\n'.repeat(linesMax))],
  },
  {
    says: 'nothing is left for later',
    problems: unfinishedProblems,
    planted: [file('src/model/a.ts', '// TODO: more'), file('test/a.ts', '// FIXME')],
    clean: [file('src/model/a.ts', 'const todo = 1')],
  },
  {
    says: 'no test is skipped or singled out',
    problems: leftOutProblems,
    planted: ["test.only('a')", "describe.skip('a')", "it.concurrent.skip('a')", "test.todo('a')"].map(
      (text) => file('test/a.test.ts', text),
    ),
    clean: [file('test/a.test.ts', "test.skipIf(url === undefined)('a')")],
  },
]

/** This file holds the planted violations. */
const files: readonly SourceFile[] = folders
  .flatMap((folder) => filesBelow(folder))
  .filter(({ path }) => path !== 'test/repo/tidy.test.ts')

function filesBelow(folder: string): SourceFile[] {
  const entries = readdirSync(root, { withFileTypes: true }).some((entry) => entry.name === folder)
    ? readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    : []
  return entries
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replaceAll('\\', '/'))
    .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

describe.each(rules)('$says', ({ problems, planted, clean }) => {
  test('in this repository', () => expect(files.flatMap(problems)).toEqual([]))
  test('and a planted violation is found', () =>
    expect(planted.filter((one) => problems(one).length === 0)).toEqual([]))
  test('and what is right is left alone', () => expect(clean.flatMap(problems)).toEqual([]))
})

test('the glossary explains exactly the events that there are', () => {
  const words = readFileSync(join(root, 'docs/words.md'), 'utf8')
  const explained = [...words.matchAll(/^\| `([a-z]+\.[a-z]+)` \| \S/gm)].map((match) => match[1] ?? '')
  expect(explained.toSorted()).toEqual(
    Event.options.map((option): string => option.shape.type.value).toSorted(),
  )
})
