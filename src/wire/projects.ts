/** Projects as everybody outside sees them. */
import { z } from 'zod'

export const ProjectView = z
  .object({
    name: z.string().describe('the last part of its directory; "project/agent" reaches a shared agent'),
    directory: z.string(),
    file: z.string(),
    state: z
      .enum(['used', 'new', 'changed', 'broken'])
      .describe('"new" and "changed" wait for a person ("tieline trust"), "broken" has a mistake'),
    problem: z.string().nullable().describe('the mistake of a broken one'),
    agents: z.array(z.object({ name: z.string(), description: z.string(), shared: z.boolean() })),
  })
  .meta({ id: 'Project' })
export type ProjectView = z.infer<typeof ProjectView>

export const Projects = z.object({ projects: z.array(ProjectView) })
export type Projects = z.infer<typeof Projects>
