/** A project as a list shows it. */
import type { ProjectView } from '../wire/projects.ts'
import { nameProject, type ProjectAgents } from './project-agents.ts'
import type { ProjectFiles } from './project-files.ts'
import type { Layer } from './project-layer.ts'

type Shown = ProjectAgents & { files: ProjectFiles; layer: Layer | null }

export function viewProject({ directory, files, layer }: Shown, all: readonly Shown[]): ProjectView {
  const agents = layer?.agents.names().flatMap((name) => layer.agents.get(name) ?? []) ?? []
  return {
    name: nameProject(directory, all),
    directory,
    file: files.file,
    state: files.state,
    problem: files.state === 'broken' ? files.problem : null,
    agents:
      files.state === 'used'
        ? agents.map(({ name, description, shared = false }) => ({ name, description, shared }))
        : files.untrusted.agents.map((name) => ({ name, description: '', shared: false })),
  }
}
