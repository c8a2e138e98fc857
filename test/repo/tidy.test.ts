/**
 * The style guide and the layers of the design, as tests. Each rule is also run on a planted violation, so
 * that a rule that checks nothing is noticed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { doorProblems, folderProblems, importProblems, roomProblems, type SourceFile } from './layers.ts'
import { Event } from '../../src/model/event.ts'
import {
  linesMax,
  columnsMax,
  fileNameProblems,
  identifierProblems,
  barrelProblems,
  ambientProblems,
  listenerProblems,
  widthProblems,
  sizeProblems,
  unfinishedProblems,
  leftOutProblems,
} from './style-rules.ts'

type Rule = {
  says: string
  problems: (file: SourceFile) => string[]
  planted: readonly SourceFile[]
  clean: readonly SourceFile[]
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const folders = [
  'src',
  'test',
  'bench',
  'examples',
  'hostile',
  'chaos',
  'mutants',
  'scripts',
  'sim',
  'spec',
  'web',
  'bin',
]
export const file = (path: string, text = ''): SourceFile => ({ path, text })

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
    says: `no line is wider than ${columnsMax} columns`,
    problems: widthProblems,
    planted: [file('src/model/a.ts', `${'x'.repeat(columnsMax + 1)}\n`)],
    clean: [file('src/model/a.ts', `${'é'.repeat(columnsMax)}\n`), file('web/src/a.css', 'x'.repeat(200))],
  },
  {
    says: 'a room of the runtime knows nothing of the rooms above it',
    problems: roomProblems,
    planted: [
      file('src/runtime/turns/a.ts', "import { b } from '../mail/b.ts'"),
      file('src/runtime/kernel/a.ts', "import type { B } from '../desk/b.ts'"),
      file('src/runtime/a.ts', ''),
    ],
    clean: [
      file('src/runtime/mail/a.ts', "import { b } from '../look/b.ts'\nimport { c } from './c.ts'"),
      file('src/runtime/node.ts', "import { b } from './desk/b.ts'"),
      file('src/runtime/kernel/a.test.ts', "import { b } from '../desk/b.ts'"),
    ],
  },
  {
    says: 'a door asks the desk, not the rules',
    problems: doorProblems,
    planted: [
      file('src/server/a-routes.ts', "import { openCall } from '../model/call.ts'"),
      file('src/adapters/mcp/a.ts', "import { mayUse, type Authority } from '../../model/authority.ts'"),
    ],
    clean: [
      file('src/server/a-routes.ts', "import type { Authority } from '../model/authority.ts'"),
      file('src/server/b-routes.ts', "import { explain } from '../model/refusal.ts'"),
      file('src/runtime/desk/a.ts', "import { mayUse } from '../../model/authority.ts'"),
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
  .filter(({ path }) => !['test/repo/tidy.test.ts', 'test/repo/style-rules.ts'].includes(path))

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
