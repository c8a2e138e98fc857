/**
 * One server, all projects. A session sees the agents, limits, tools and models of the nearest project at or above
 * its directory, on top of the user's own. A changed file counts from the next look on; turns that run keep what
 * they have. A file that nobody has agreed to gives nothing.
 */
import { basename, dirname } from 'node:path'
import { OptionsError } from '../agents.ts'
import { readConfig, type Config } from '../config.ts'
import { withFiles, type ConfigFiles, type ConfigSource } from '../config-file.ts'
import { ConfigError } from '../config-path.ts'
import type { AgentOptions } from '../define.ts'
import { viewAgents, type Others, type ProjectAgents } from './project-agents.ts'
import {
  breakProject,
  listParts,
  readProject,
  sameFiles,
  stampFiles,
  toReal,
  type ProjectFiles,
} from './project-files.ts'
import { makeLayer, type Layer, type LayerParts } from './project-layer.ts'
import { viewProject } from './view-project.ts'
import { afterRound } from '../runtime/kernel/next-round.ts'
import type { Agents } from '../runtime/kernel/ports.ts'
import type { Projects, Surroundings } from '../runtime/kernel/projects-port.ts'
import {
  configNames,
  findConfigDirectory,
  readConfigIn,
  readConfigText,
  userDirectory,
} from '../trust/config-text.ts'
import { listTrusted, trustDirectory } from '../trust/trust-store.ts'
import type { ProjectView } from '../wire/projects.ts'

export type ProjectOptions = {
  /** The file that a person named; null is the user's own. */
  named: string | null
  source: ConfigSource
  base: { config: Config | null; files: ConfigFiles | null }
  inCode: Record<string, AgentOptions>
  /** The agents that are there where no other is. */
  builtIn: Record<string, AgentOptions>
  parts: LayerParts
  /** Whether turns of this line run: what they use is not closed under them. */
  isBusy: () => boolean
}

type BuiltProject = ProjectAgents & { files: ProjectFiles; layer: Layer | null }
type Project = BuiltProject & {
  used: ConfigFiles | null
  /** What was found on disk, before its parts were put together. */
  read: ProjectFiles['state']
  stamp: string | null
  /** The user's own configuration that it was read with. */
  under: Layer
  surroundings: Surroundings | null
}

export type OpenProjects = Projects & {
  /** What the user's own configuration says now, for those that doors made. */
  readonly user: Agents
  layer(): Layer
  /** Agents of the user's own, with those that doors made. They are known only after this. */
  useBook(book: Agents): void
  /** Throws an OptionsError for a project with a mistake: that of a server that is started there. */
  check(directory: string): void
  close(): Promise<void>
}

const directoriesMax = 500
export const openProjects = (options: ProjectOptions): OpenProjects => new ProjectBook(options)

type Base = ProjectOptions['base'] & { layer: Layer; stamp: string | null }

class ProjectBook implements OpenProjects {
  readonly #options: ProjectOptions
  /** No project is found in these. */
  readonly #own: readonly string[]
  readonly #projects = new Map<string, Project>()
  /** The project's directory for each directory that was asked about, and when it was last looked at. */
  readonly #directories = new Map<string, { directory: string | null; at: number }>()
  /** Of this round of the event loop. */
  readonly #looked = new Map<string, Surroundings>()
  readonly #retired: Layer[] = []
  readonly #others: Others
  readonly user: Agents
  #base: Base
  #surroundings: Surroundings | null = null
  #book: Agents
  /** What was last said about a mistake in the user's own file. */
  #said = ''

  constructor(options: ProjectOptions) {
    this.#options = options
    this.#own = listOwn(options)
    const { base } = options
    this.#base = { ...base, layer: makeBase(options, base.config), stamp: stampBase(options, base.files) }
    this.user = {
      get: (name) => this.layer().agents.get(name),
      names: () => this.layer().agents.names(),
      driver: (agent) => this.layer().agents.driver(agent),
      whyUnavailable: (agent) => this.layer().agents.whyUnavailable?.(agent) ?? null,
      isMetered: (agent) => this.layer().agents.isMetered?.(agent) !== false,
      limitOf: (agent) => this.layer().agents.limitOf?.(agent) ?? null,
      windowsOf: (agent) => this.layer().agents.windowsOf?.(agent) ?? [],
      whyUnrestricted: (agent) => this.layer().agents.whyUnrestricted?.(agent) ?? null,
    }
    this.#book = this.user
    this.#others = {
      list: () => this.#readAll().filter(({ layer }) => layer !== null),
      at: (cwd) => this.#lookUp(cwd),
    }
  }

  layer(): Layer {
    return this.#base.layer
  }

  check(directory: string): void {
    const files = this.#read(toReal(directory))?.files
    if (files?.state === 'broken') throw new OptionsError(files.problem)
  }

  useBook(book: Agents): void {
    this.#book = book
    this.#surroundings = null
    this.#looked.clear()
  }

  /** Many turns that go on with one commit look once: files are looked at again in the next round of the loop. */
  look(cwd: string, agoMsMax = 0): Surroundings {
    const known = this.#looked.get(cwd)
    if (known !== undefined) return known
    const { at = -Infinity } = this.#directories.get(cwd) ?? {}
    if (this.#options.parts.clock.elapsed() - at < agoMsMax) return this.known(cwd)
    this.#renewBase()
    this.#closeRetired()
    const found = this.#surround(this.#lookUp(cwd))
    if (this.#looked.size === 0) afterRound(() => this.#looked.clear())
    this.#looked.set(cwd, found)
    return found
  }

  known(cwd: string): Surroundings {
    const { directory } = this.#directories.get(cwd) ?? {}
    if (directory === undefined) return this.look(cwd)
    return this.#surround(directory === null ? null : (this.#projects.get(directory) ?? null))
  }

  list(): ProjectView[] {
    this.#renewBase()
    const found = this.#readAll()
    return found.map((project) => viewProject(project, found))
  }

  async close(): Promise<void> {
    const ofProjects = [...this.#projects.values()].flatMap(({ layer }) => layer ?? [])
    const layers = [this.#base.layer, ...this.#retired, ...ofProjects]
    await Promise.all(layers.map(({ toolbox }) => toolbox.close()))
  }

  /** The user's own file as it is now. With a mistake in it what was there before goes on. */
  #renewBase(): void {
    const [options, base, said] = [this.#options, this.#base, this.#said]
    const stamp = stampBase(options, base.files)
    if (stamp !== null && stamp === base.stamp) return
    base.stamp = stamp
    this.#said = ''
    try {
      const files = readBase(options)
      if (sameFiles(files, base.files)) return
      const isBare = files === null && options.base.files === null
      const config = isBare ? options.base.config : readConfig(files, null, options.source)
      const layer = makeBase(options, config)
      this.#retired.push(base.layer)
      this.#base = { config, files, layer, stamp }
      this.#surroundings = null
    } catch (error) {
      if (!(error instanceof ConfigError || error instanceof OptionsError)) throw error
      if (error.message !== said)
        options.parts.warn(`${error.message}\nUntil it is right, what it said before counts.`)
      this.#said = error.message
    }
  }

  #lookUp(cwd: string): Project | null {
    const directory = findConfigDirectory(toReal(cwd), this.#own)
    if (this.#directories.size >= directoriesMax) this.#directories.clear()
    this.#directories.set(cwd, { directory, at: this.#options.parts.clock.elapsed() })
    return directory === null ? null : this.#read(directory)
  }

  /** Null where the directory has no configuration any more. */
  #read(directory: string): Project | null {
    const { source, parts } = this.#options
    const { files, config, layer: under } = this.#base
    const known = this.#projects.get(directory)
    const stamp = stampFiles(listParts(directory, known?.used ?? null, source), parts.clock.now())
    const isUnder = known?.under === under
    if (known !== undefined && isUnder && stamp !== null && stamp === known.stamp) return known
    const read = readProject(directory, files, config, source)
    if (read.files === null) {
      this.#retire(known)
      this.#projects.delete(directory)
      return null
    }
    const isSame = isUnder && known?.read === read.files.state && sameFiles(read.used, known.used)
    if (known !== undefined && isSame) {
      known.stamp = stamp
      return known
    }
    this.#retire(known)
    const built = this.#build(directory, read.files)
    const project = { ...built, used: read.used, read: read.files.state, stamp, under, surroundings: null }
    this.#projects.set(directory, project)
    return project
  }

  #build(directory: string, files: ProjectFiles): BuiltProject {
    if (files.state !== 'used')
      return { directory, files, layer: null, agents: null, untrusted: files.untrusted }
    try {
      const providers = this.#base.config?.providers ?? {}
      const source = { config: files.config, inCode: {}, providers, cwd: directory }
      const layer = makeLayer(source, this.#options.parts)
      return { directory, files, layer, agents: layer.agents, untrusted: null }
    } catch (error) {
      if (!(error instanceof OptionsError)) throw error
      const broken = breakProject(files.file, error.message)
      return { directory, files: broken, layer: null, agents: null, untrusted: broken.untrusted }
    }
  }

  #surround(project: Project | null): Surroundings {
    const known = project === null ? this.#surroundings : project.surroundings
    if (known !== null) return known
    const [layer, base] = [project?.layer ?? this.#base.layer, this.#base.layer]
    const isBuiltIn = (name: string): boolean => Object.hasOwn(this.#options.builtIn, name)
    const made: Surroundings = {
      agents: viewAgents(project, this.#book, isBuiltIn, this.#others),
      project: project?.layer == null ? null : project.directory,
      limits: layer.limits,
      ownLimits: base.limits,
      tools: layer.toolbox.tools,
      summarise: (agent, ...rest) =>
        (layer.agents.get(agent.name) === undefined ? base : layer).summarise(agent, ...rest),
      subagent: layer.subagent,
      artifactKinds: layer.artifactKinds,
      standardTools: layer.toolbox.standard,
    }
    if (project === null) this.#surroundings = made
    else project.surroundings = made
    return made
  }

  #retire(project: Project | undefined): void {
    if (project?.layer != null) this.#retired.push(project.layer)
  }

  /** Not while turns run: one of them may use what was there before. */
  #closeRetired(): void {
    const { isBusy, parts } = this.#options
    if (this.#retired.length === 0 || isBusy()) return
    for (const { toolbox } of this.#retired.splice(0))
      void toolbox.close().catch((fault: unknown) => parts.warn(String(fault)))
  }

  /** Those that a person has agreed to, and those that somebody has worked in. */
  #readAll(): Project[] {
    const { source } = this.#options
    const agreed = listTrusted(trustDirectory(source.env, source.home)).map(({ file }) => dirname(file))
    const directories = [...new Set([...agreed, ...this.#projects.keys()])].sort()
    return directories.slice(0, directoriesMax).flatMap((directory) => this.#read(directory) ?? [])
  }
}

/** Where the user's own configuration is, and the one that was named: no project is found there. */
function listOwn({ named, source }: ProjectOptions): string[] {
  const isNamed = named !== null && (configNames as readonly string[]).includes(basename(named))
  return [userDirectory(source.env, source.home), ...(isNamed ? [dirname(named)] : [])].map(toReal)
}

const makeBase = ({ inCode, builtIn, parts, source }: ProjectOptions, config: Config | null): Layer => {
  const none = (config?.agents.length ?? 0) === 0 && Object.keys(inCode).length === 0
  return makeLayer({ config, inCode: none ? builtIn : inCode, providers: {}, cwd: source.cwd }, parts)
}

const stampBase = ({ named, source, parts }: ProjectOptions, files: ConfigFiles | null): string | null =>
  stampFiles(
    [...(named === null ? [] : [named]), ...listParts(userDirectory(source.env, source.home), files, source)],
    parts.clock.now(),
  )

function readBase({ named, source }: ProjectOptions): ConfigFiles | null {
  const directory = userDirectory(source.env, source.home)
  const used = named === null ? readConfigIn(directory)?.used : readConfigText(named)
  return used == null ? null : withFiles(named === null ? used : { ...used, path: named }, source.home)
}
