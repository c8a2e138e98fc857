/**
 * What manifest files tell about a project. A manifest that cannot be read as what it should be tells only
 * that it is there.
 */
import { parse as parseToml } from 'smol-toml'
import { parseJson } from '../model/bounded-json.ts'
import { isRefusal } from '../model/refusal.ts'

export type Project = { name: string | null; stack: string[] }

/** Names of dependencies, and how people call what they bring; the first is the language. */
const known = {
  npm: {
    typescript: 'TypeScript',
    react: 'React',
    'react-native': 'React Native',
    next: 'Next.js',
    vue: 'Vue',
    nuxt: 'Nuxt',
    svelte: 'Svelte',
    '@angular/core': 'Angular',
    'solid-js': 'Solid',
    express: 'Express',
    fastify: 'Fastify',
    hono: 'Hono',
    '@nestjs/core': 'NestJS',
    electron: 'Electron',
    tailwindcss: 'Tailwind CSS',
    vite: 'Vite',
    vitest: 'Vitest',
    jest: 'Jest',
  },
  cargo: {
    tokio: 'Tokio',
    axum: 'Axum',
    'actix-web': 'Actix Web',
    rocket: 'Rocket',
    bevy: 'Bevy',
    tauri: 'Tauri',
  },
  python: {
    django: 'Django',
    flask: 'Flask',
    fastapi: 'FastAPI',
    numpy: 'NumPy',
    pandas: 'pandas',
    torch: 'PyTorch',
    tensorflow: 'TensorFlow',
    pytest: 'pytest',
  },
  go: {
    'github.com/gin-gonic/gin': 'Gin',
    'github.com/labstack/echo': 'Echo',
    'github.com/gofiber/fiber': 'Fiber',
  },
  java: { 'spring-boot': 'Spring Boot', quarkus: 'Quarkus', micronaut: 'Micronaut' },
  ruby: { rails: 'Rails', sinatra: 'Sinatra', rspec: 'RSpec' },
  php: { 'laravel/framework': 'Laravel', 'symfony/framework-bundle': 'Symfony' },
} as const satisfies Record<string, Record<string, string>>

const unnamed = (...stack: string[]): Project => ({ name: null, stack })

const manifests: Readonly<Record<string, (text: string) => Project>> = {
  'package.json': fromPackageJson,
  'tsconfig.json': () => unnamed('TypeScript'),
  'deno.json': (text) => ({ name: textAt(json(text), 'name'), stack: ['Deno'] }),
  'Cargo.toml': fromCargo,
  'pyproject.toml': fromPyproject,
  'requirements.txt': (text) =>
    unnamed('Python', ...namedIn(parseRequirements(text.split('\n')), known.python)),
  'setup.py': () => unnamed('Python'),
  'go.mod': fromGoMod,
  'pom.xml': fromPom,
  'build.gradle': (text) => unnamed('Java', 'Gradle', ...mentioned(text, known.java)),
  'build.gradle.kts': (text) => unnamed('Kotlin', 'Gradle', ...mentioned(text, known.java)),
  Gemfile: (text) =>
    unnamed('Ruby', ...namedIn(allMatches(text, /^[ \t]*gem[ \t]+['"]([^'"\n]+)['"]/gm), known.ruby)),
  'composer.json': fromComposer,
  'mix.exs': (text) => ({ name: firstMatch(text, /\bapp:\s*:(\w+)/), stack: ['Elixir'] }),
  'CMakeLists.txt': (text) => ({
    name: firstMatch(text, /\bproject\s*\(\s*"?([\w.+-]+)/i),
    stack: ['CMake'],
  }),
  Dockerfile: () => unnamed('Docker'),
}

/** The first manifest that has a name gives it; the stack is what all of them say, once each. */
export async function readManifests(
  present: ReadonlySet<string>,
  read: (file: string) => Promise<string | null>,
): Promise<Project> {
  let name: string | null = null
  const stack = new Set<string>()
  for (const [file, parse] of Object.entries(manifests)) {
    const text = present.has(file) ? await read(file) : null
    if (text === null) continue
    const found = parse(text)
    name ??= found.name
    for (const part of found.stack) stack.add(part)
  }
  return { name, stack: [...stack] }
}

function fromPackageJson(text: string): Project {
  const manifest = json(text)
  const dependencies = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((key) =>
    keysAt(manifest, key),
  )
  return { name: textAt(manifest, 'name'), stack: ['Node.js', ...namedIn(dependencies, known.npm)] }
}

function fromCargo(text: string): Project {
  const manifest = toml(text)
  const dependencies = [
    ...keysAt(manifest, 'dependencies'),
    ...keysAt(at(manifest, 'workspace'), 'dependencies'),
  ]
  return {
    name: textAt(at(manifest, 'package'), 'name'),
    stack: ['Rust', ...namedIn(dependencies, known.cargo)],
  }
}

function fromPyproject(text: string): Project {
  const manifest = toml(text)
  const project = at(manifest, 'project')
  const poetry = at(at(manifest, 'tool'), 'poetry')
  const listed = at(project, 'dependencies')
  const dependencies = [
    ...parseRequirements(Array.isArray(listed) ? listed : []),
    ...keysAt(poetry, 'dependencies').map((key) => key.toLowerCase()),
  ]
  return {
    name: textAt(project, 'name') ?? textAt(poetry, 'name'),
    stack: ['Python', ...namedIn(dependencies, known.python)],
  }
}

function fromGoMod(text: string): Project {
  // A module's path may end in its major version, which is not its name.
  const parts = (firstMatch(text, /^module\s+"?([^\s"]+)/m) ?? '')
    .split('/')
    .filter((part) => !/^v\d+$/.test(part))
  return { name: parts.at(-1) || null, stack: ['Go', ...mentioned(text, known.go)] }
}

function fromPom(text: string): Project {
  // The names of the parent, of dependencies and of plugins stand in elements of the same kind.
  const own = ['parent', 'dependencyManagement', 'dependencies', 'build', 'profiles'].reduce(
    withoutElement,
    text,
  )
  return {
    name: firstMatch(own, /<artifactId>\s*([^<\s]+)/),
    stack: ['Java', 'Maven', ...mentioned(text, known.java)],
  }
}

/** Looks for each end once, so that a file made of starts without ends costs no more than another. */
function withoutElement(text: string, element: string): string {
  const kept: string[] = []
  let from = 0
  for (let start = text.indexOf(`<${element}>`); start !== -1; start = text.indexOf(`<${element}>`, from)) {
    const end = text.indexOf(`</${element}>`, start)
    if (end === -1) break
    kept.push(text.slice(from, start))
    from = end + element.length + 3
  }
  return kept.join('') + text.slice(from)
}

function fromComposer(text: string): Project {
  const manifest = json(text)
  return {
    name: textAt(manifest, 'name'),
    stack: ['PHP', ...namedIn(keysAt(manifest, 'require'), known.php)],
  }
}

const parseRequirements = (lines: readonly unknown[]): string[] =>
  lines.flatMap((line) =>
    typeof line === 'string' ? (firstMatch(line, /^\s*([A-Za-z0-9._-]+)/)?.toLowerCase() ?? []) : [],
  )

const namedIn = (dependencies: readonly string[], names: Record<string, string>): string[] =>
  Object.entries(names).flatMap(([dependency, name]) => (dependencies.includes(dependency) ? [name] : []))

const mentioned = (text: string, names: Record<string, string>): string[] =>
  Object.entries(names).flatMap(([dependency, name]) => (text.includes(dependency) ? [name] : []))

const firstMatch = (text: string, pattern: RegExp): string | null => pattern.exec(text)?.[1] ?? null
const allMatches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? '')

function json(text: string): unknown {
  const parsed = parseJson(text, 'manifest')
  // People break manifests while they work on them; that it is there still tells the language.
  return isRefusal(parsed) ? null : parsed.value
}

function toml(text: string): unknown {
  try {
    return parseToml(text)
  } catch {
    // As with JSON: that it is there still tells the language.
    return null
  }
}

const at = (value: unknown, key: string): unknown =>
  value !== null && typeof value === 'object' && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined

function textAt(value: unknown, key: string): string | null {
  const text = at(value, key)
  return typeof text === 'string' && text.trim() !== '' ? text : null
}

function keysAt(value: unknown, key: string): string[] {
  const table = at(value, key)
  return table !== null && typeof table === 'object' ? Object.keys(table) : []
}
