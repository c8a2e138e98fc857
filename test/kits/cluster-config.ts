import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The configuration of a node, in a directory of its own. Returns its file. */
export function writeConfig(directory: string, name: string, labels: readonly string[] = []): string {
  const file = join(directory, 'tieline.toml')
  writeFileSync(
    file,
    `[store]\nengine = "postgres"\n[node]\nname = "${name}"\nlabels = ${JSON.stringify(labels)}\n` +
      `[server]\ndataDir = "data"\n`,
  )
  return file
}
