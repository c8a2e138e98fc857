/** The layers of the design, the rooms of the runtime, and which of them may know which. */
import { posix } from 'node:path'

export type SourceFile = { path: string; text: string }

const tops = ['src/agents.ts', 'src/config.ts', 'src/define.ts', 'src/line-parts.ts']
const belowStore = ['trust', 'model', 'wire', 'src/own-files.ts']
const below = ['model', 'wire', 'runtime', 'trust', 'adapters']
const top = (...names: string[]): string[] => names.map((name) => `src/${name}.ts`)
const configFiles = ['file', 'keys', 'imports', 'path'].map((name) => `src/config-${name}.ts`)
const drivenParts = ['check', 'presets', 'program'].map((name) => `src/adapters/acp/${name}.ts`)

/** What each layer may import, besides itself. An entry is a layer, or one file of a layer. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  model: [],
  trust: ['model'],
  wire: ['model'],
  runtime: ['model', 'wire'],
  store: [
    'src/runtime/kernel/ports.ts',
    'src/runtime/kernel/store-port.ts',
    'src/runtime/kernel/lists-port.ts',
    'src/runtime/kernel/store-health.ts',
    'src/runtime/kernel/next-round.ts',
    ...belowStore,
  ],
  tools: ['runtime', 'model', 'wire', 'src/own-files.ts'],
  adapters: ['runtime', 'tools', 'client', 'model', 'wire', 'trust', 'src/own-files.ts'],
  server: ['runtime', 'model', 'wire', 'src/own-files.ts'],
  views: [
    'src/runtime/kernel/ports.ts',
    'src/runtime/kernel/store-port.ts',
    'src/runtime/desk/desk.ts',
    'src/runtime/desk/log.ts',
    'src/runtime/desk/mail.ts',
    'trust',
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
    ...drivenParts,
    'src/adapters/claude-code/hooks.ts',
    'src/adapters/codex/rpc.ts',
    'src/adapters/mcp/serve-stdio.ts',
    'src/adapters/sandbox/describe-open.ts',
    'src/adapters/sandbox/probe.ts',
    'src/client-tools.ts',
    'src/define.ts',
    'src/log-care.ts',
    'src/recorded-log.ts',
    'src/open-server.ts',
    'src/open-line.ts',
    'trust',
    'src/config.ts',
    'src/config-path.ts',
    'src/config-problem.ts',
    'src/version.ts',
    'src/own-files.ts',
    'src/runtime/kernel/bounded-fetch.ts',
    'src/runtime/kernel/system-clock.ts',
  ],
  'src/index.ts': [
    'wire',
    'model',
    'runtime',
    'src/adapters/scripted/run-function.ts',
    'src/adapters/scripted/script.ts',
    'src/agents.ts',
    'src/config-path.ts',
    'src/define.ts',
    'src/tieline.ts',
    'src/line.ts',
    'src/recorded-log.ts',
    'src/store/directory.ts',
  ],
  'src/client/index.ts': ['client', 'model', 'wire'],
  'src/server/index.ts': [
    'src/tieline.ts',
    'src/open-server.ts',
    'src/server-options.ts',
    'src/server/log-sink.ts',
  ],
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
    'trust',
    'store',
    'adapters',
    'src/agents.ts',
    'src/config.ts',
    'src/config-file.ts',
    'src/config-problem.ts',
    'src/define.ts',
    'src/version.ts',
  ],
  'src/client-tools.ts': [
    'src/adapters/mcp/server-tools.ts',
    'src/config.ts',
    'src/runtime/desk/client-tools.ts',
    'tools',
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
    'src/open-store.ts',
    'projects',
    'src/version.ts',
    'trust',
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
    'src/line-runs.ts',
    'src/cluster.ts',
    'src/open-store.ts',
    'projects',
    'src/recorded-log.ts',
  ],
  'src/cluster.ts': ['model', 'wire', 'runtime', 'store', 'src/config-keys.ts', 'src/version.ts'],
  'src/open-store.ts': ['model', 'runtime', 'store', 'src/config.ts'],
  'src/agents.ts': [
    'model',
    'runtime',
    'adapters',
    'src/config.ts',
    'src/config-problem.ts',
    'src/define.ts',
  ],
  'src/server-options.ts': ['src/line.ts', 'src/server/log-sink.ts'],
  'src/server-files.ts': ['runtime', 'trust', 'src/config.ts', 'src/store/directory.ts', 'src/version.ts'],
  'src/server-views.ts': ['wire', 'runtime', 'views', 'src/open-line.ts', 'src/version.ts'],
  'src/open-server.ts': [
    ...below,
    'server',
    'views',
    ...top('config', 'line', 'line-parts', 'server-files', 'server-options', 'server-views'),
    ...top('open-doors', 'open-line', 'version', 'warm-up'),
  ],
  'src/open-doors.ts': [
    'runtime',
    'adapters',
    'server',
    ...top('server-views', 'own-files', 'open-line', 'version'),
  ],
  'src/warm-up.ts': ['model', 'runtime', 'adapters', 'src/server/peers.ts'],
  'src/log-care.ts': ['store'],
  'src/version.ts': [],
  'src/own-files.ts': [],
  'src/config.ts': [...configFiles, 'src/config-narrow.ts', 'src/config-problem.ts', 'model', 'trust'],
  'src/config-file.ts': ['src/config-imports.ts', 'src/config-path.ts', 'model', 'trust'],
  'src/config-imports.ts': ['src/config-path.ts', 'src/config-problem.ts', 'model', 'trust'],
  'src/config-path.ts': ['trust'],
  'src/config-keys.ts': ['model'],
  projects: [...below, ...configFiles, ...tops],
  'src/line-runs.ts': ['model', 'runtime', 'src/agents.ts', 'src/line.ts'],
  'src/config-narrow.ts': ['model'],
  'src/config-problem.ts': ['model'],
}
/** What `exports` of package.json names: they gather the names of others, and nothing else does. */
export const entryPoints = [
  'src/index.ts',
  'src/client/index.ts',
  'src/server/index.ts',
  'src/adapters/opencode/index.ts',
]
const adapters = [
  'scripted',
  'model',
  'acp',
  'opencode',
  'claude-code',
  'codex',
  'limits',
  'host',
  'mcp',
  'letta',
  'tokens',
  'schemas',
  'sandbox',
  'prices',
]

/** Tests and contract suites put the real parts of several layers together. */
export const isTest = (path: string): boolean => /\.test\.ts$|-contract\.ts$/.test(path)
export const isLayered = (path: string): boolean => path.startsWith('src/') && !isTest(path)

/**
 * `adapters/mcp` for an adapter, since they may not know each other; the path itself for an entry point and for
 * a file at the top.
 */
function layerOf(path: string): string {
  const [, folder = '', inner = ''] = path.split('/')
  if (inner === '' || entryPoints.includes(path)) return path
  return folder === 'adapters' ? `adapters/${inner}` : folder
}

export const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|[^:'"`\\])\/\/.*$/gm, '$1')

function importsOf({ path, text }: SourceFile): string[] {
  const found = withoutComments(text).matchAll(
    /(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)(['"])(\.[^'"]*)\1/g,
  )
  return [...found].map((match) => posix.join(posix.dirname(path), match[2] ?? ''))
}

export function importProblems(file: SourceFile): string[] {
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

export function folderProblems({ path }: SourceFile): string[] {
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

/** From low to high: a room knows nothing of those after it. `node.ts` puts them together. */
const rooms = ['kernel', 'look', 'turns', 'calls', 'mail', 'sessions', 'replay', 'desk']

export function roomProblems(file: SourceFile): string[] {
  const [, layer, room = ''] = file.path.split('/')
  if (!isLayered(file.path) || layer !== 'runtime' || room === 'node.ts') return []
  if (!rooms.includes(room)) return [`${file.path}: the runtime has the rooms ${rooms.join(', ')}`]
  return importsOf(file)
    .filter((target) => target.startsWith('src/runtime/'))
    .filter((target) => !rooms.slice(0, rooms.indexOf(room) + 1).includes(target.split('/')[2] ?? ''))
    .map((target) => `${file.path} imports ${target}`)
}

const ruleFiles = ['authority', 'call', 'context', 'end', 'fork', 'hop', 'mail', 'runs', 'send']

/** A door translates: the desk asks the rules, and it alone. Types of theirs may be named. */
export function doorProblems({ path, text }: SourceFile): string[] {
  if (!isLayered(path) || !/^src\/(server|adapters)\//.test(path)) return []
  const found = withoutComments(text).matchAll(/\bimport\s+(?!type\b)[^'"]*?from\s*['"](\.[^'"]*)['"]/g)
  return [...found]
    .map((match) => posix.join(posix.dirname(path), match[1] ?? ''))
    .filter((target) => ruleFiles.some((rule) => target === `src/model/${rule}.ts`))
    .map((target) => `${path} asks the rules of ${target} itself`)
}
