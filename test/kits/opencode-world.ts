/** A real server, and opencode in memory with the plugin in it. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect } from 'vitest'
import { tielinePlugin, type TielinePluginOptions } from '../../src/adapters/opencode/plugin.ts'
import { tielineClient, type TielineClient } from '../../src/client/client.ts'
import type { AgentOptions } from '../../src/define.ts'
import { openServer } from '../../src/open-server.ts'
import { memoryOpencode, type MemoryOpencode, type Say } from './opencode-double.ts'

export const open: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

export type World = {
  client: TielineClient
  memory: MemoryOpencode
  dataDir: string
  directory: string
  /** Ends the server, and starts another on its log, at another address. Returns a client of that one. */
  restart(): Promise<TielineClient>
  /** Ends the plugin, and starts it again as a new opencode would. */
  reload(): Promise<void>
}

export const ours = (own: string): string => `ses_opencode-${own}`

export async function world(
  say: Say,
  options: TielinePluginOptions = {},
  agents: Record<string, AgentOptions> = {},
  config: object = {},
): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-plugin-'))
  const dataDir = mkdtempSync(join(tmpdir(), 'tieline-plugin-data-'))
  const file = join(dataDir, 'configuration.json')
  writeFileSync(file, JSON.stringify(config))
  const start = () =>
    openServer({
      dataDir,
      config: file,
      port: 0,
      agents: { helper: { description: 'helps', script: [{ say: 'helped' }] }, ...agents },
    })
  let served = await start()
  open.push(() => served.close())
  const memory = memoryOpencode(directory, say)
  const load = async (): Promise<void> => {
    memory.hooks = await tielinePlugin({ client: memory.client, directory }, { dataDir, ...options })
  }
  await load()
  open.push(() => memory.hooks.dispose?.())
  return {
    client: tielineClient({ url: served.url }),
    memory,
    dataDir,
    directory,
    async restart() {
      await served.close()
      served = await start()
      return tielineClient({ url: served.url })
    },
    async reload() {
      await memory.hooks.dispose?.()
      await load()
    },
  }
}

/** A session that the server knows. */
export async function session(
  { memory, client }: World,
  id: string,
  more: Parameters<MemoryOpencode['add']>[0] | object = {},
): Promise<string> {
  memory.add({ ...more, id })
  await expect
    .poll(async () => (await client.sessions.list()).sessions.some((one) => one.id === ours(id)))
    .toBe(true)
  return ours(id)
}

export const ended = async (client: TielineClient, id: string): Promise<string | undefined> =>
  (await client.sessions.wait(id, { timeoutMs: 10_000 })).lastMessage?.content

export function gate(): { opened: Promise<void>; open: () => void } {
  let release = (): void => undefined
  const opened = new Promise<void>((resolve) => (release = resolve))
  return { opened, open: () => release() }
}

export type Hooked = NonNullable<MemoryOpencode['hooks']['tool']>

export const use = async (
  { memory }: World,
  name: keyof Hooked,
  args: Record<string, unknown>,
  at: { sessionID: string; messageID: string },
): Promise<Record<string, unknown>> =>
  JSON.parse(
    (await memory.hooks.tool?.[name]?.execute(args, { ...at, abort: new AbortController().signal }))
      ?.output ?? '{}',
  ) as Record<string, unknown>
