/** Lines on one PostgreSQL, each as a node of its own, in one process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openLine, type OpenLine, type OpenLineOptions } from '../../src/open-line.ts'
import { connect } from '../../src/store/postgres/link.ts'
import type { Postgres } from './postgres.ts'

export type NodeOptions = OpenLineOptions & { name: string; labels?: readonly string[] }

let databases = 0

/** A database of its own, so that nodes of other tests are not in it. */
export async function freshDatabase(postgres: Postgres | null): Promise<string> {
  const url = postgres?.url ?? ''
  const name = `cluster_${(databases += 1)}`
  const link = await connect({ url })
  await link.run(`create database ${name}`)
  link.close()
  return url.replace(/\/postgres$/, `/${name}`)
}

export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-cluster-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function writeConfig(directory: string, name: string, labels: readonly string[] = []): string {
  const file = join(directory, 'tieline.toml')
  writeFileSync(
    file,
    `[store]\nengine = "postgres"\n[node]\nname = "${name}"\nlabels = ${JSON.stringify(labels)}\n` +
      `[server]\ndataDir = "data"\n`,
  )
  return file
}

export async function openNode(url: string, { name, labels, ...options }: NodeOptions): Promise<OpenLine> {
  const directory = scratch()
  process.env['TIELINE_DATABASE_URL'] = url
  const line = await openLine({ config: writeConfig(directory, name, labels), leaseMs: 1000, ...options })
  onTestFinished(() => line.close())
  return line
}
