/** A command in a sandbox of bubblewrap, as arguments. */
import { lstatSync, readdirSync } from 'node:fs'
import type { Places } from './places.ts'

/** Where the inner door is inside. */
export const innerDoorPath = '/run/tieline/door'

/**
 * Namespaces of its own for users, processes, network, messages and names; no capability, and no way to new
 * namespaces. Everything ends with its first process, and that ends with ours.
 */
const apart =
  '--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try ' +
  '--disable-userns --cap-drop ALL --die-with-parent --new-session --hostname sandbox'
/**
 * A new /proc shows only the sandbox's own processes, but the settings of the kernel in it are everybody's, and
 * root owns them. Where the server runs as root, so does the sandbox: they are made read-only.
 */
const settings = (): string[] =>
  readdirSync('/proc')
    .filter((name) => !/^\d+$/.test(name) && name !== 'sysvipc')
    .map((name) => `/proc/${name}`)
    .filter((path) => {
      const found = lstatSync(path, { throwIfNoEntry: false })
      return found?.isDirectory() === true || (found?.isFile() === true && (found.mode & 0o222) !== 0)
    })
    .flatMap((path) => ['--ro-bind', path, path])
let known: readonly string[] | null = null

const disk = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/run', '--tmpfs', '/sys']

/** `door` is the Unix socket of the server, outside; null is none. */
export function bubblewrapArguments(places: Places, door: string | null): string[] {
  const empty = (paths: readonly string[]): string[] => paths.flatMap((path) => ['--tmpfs', path])
  return [
    ...apart.split(' '),
    ...disk,
    ...(known ??= settings()),
    ...empty(places.temporary),
    ...hide(places.hiddenAbove),
    ...places.writable.flatMap((path) => ['--bind', path, path]),
    ...places.kept.flatMap((path) => ['--ro-bind', path, path]),
    ...hide(places.hidden),
    ...places.seen.flatMap((path) => ['--ro-bind', path, path]),
    ...places.own.flatMap((path) => ['--bind', path, path]),
    ...(door === null ? [] : ['--bind', door, innerDoorPath]),
    '--chdir',
    places.cwd,
    '--',
  ]
}

const hide = (hidden: Places['hidden']): string[] =>
  hidden.flatMap(({ path, isDirectory }) =>
    isDirectory ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path],
  )
