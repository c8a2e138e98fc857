/**
 * A profile for `sandbox-exec` of macOS. Later rules win. It has no namespaces: programs see those of others,
 * share one /tmp, and end with their process group, not with a namespace.
 */
import type { SandboxNetwork } from './outward.ts'
import type { Places } from './places.ts'

const quote = (text: string): string => `"${text.replaceAll(/["\\]/g, (one) => `\\${one}`)}"`
const subpaths = (paths: readonly string[]): string =>
  paths.map((path) => `(subpath ${quote(path)})`).join(' ')

export function writeProfile(
  places: Places,
  temporary: string,
  port: number,
  network: SandboxNetwork,
): string {
  const hidden = [...places.hiddenAbove, ...places.hidden].map(({ path }) => path)
  const [writable, kept] = [[...places.writable, temporary], places.kept]
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    ...(hidden.length === 0 ? [] : [`(deny file-read* file-write* ${subpaths(hidden)})`]),
    `(allow file-read* file-write* ${subpaths(writable)})`,
    '(allow file-write* (literal "/dev/null") (literal "/dev/tty") (literal "/dev/zero") (subpath "/dev/fd"))',
    ...(kept.length === 0 ? [] : [`(deny file-write* ${subpaths(kept)})`]),
    ...below(hidden, writable),
    ...(places.seen.length === 0 ? [] : [`(allow file-read* ${subpaths(places.seen)})`]),
    ...(places.own.length === 0 ? [] : [`(allow file-read* file-write* ${subpaths(places.own)})`]),
    '(deny network*)',
    ...(network === 'none' ? [] : ['(allow network-outbound (remote ip "*:*"))']),
    '(deny network-outbound (remote ip "localhost:*"))',
    '(allow network-bind network-inbound (local ip "localhost:*"))',
    `(allow network-outbound (remote ip ${quote(`localhost:${port}`)}))`,
    // Names are looked up by a service of the system, over a Unix socket.
    ...(network === 'none' ? [] : ['(allow network-outbound (literal "/private/var/run/mDNSResponder"))']),
    '(deny process-info* (target others))',
    '(deny signal (target others))',
    '(deny mach-lookup (global-name "com.apple.securityd.xpc") (global-name "com.apple.SecurityServer"))',
    '',
  ].join('\n')
}

/** What is hidden inside a writable place stays hidden. */
function below(hidden: readonly string[], writable: readonly string[]): string[] {
  const inside = hidden.filter((path) =>
    writable.some((place) => path === place || path.startsWith(`${place}/`)),
  )
  return inside.length === 0 ? [] : [`(deny file-read* file-write* ${subpaths(inside)})`]
}
