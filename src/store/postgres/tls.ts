/**
 * TLS to the database, as libpq has it: `sslmode`, `sslrootcert`, `sslcert` and `sslkey` in the address, or
 * PGSSLMODE, PGSSLROOTCERT, PGSSLCERT and PGSSLKEY. The package `pg` reads some of these otherwise.
 *
 *   disable       none
 *   require       encrypted; the certificate is checked only where `sslrootcert` is given
 *   verify-ca     its authority must be the one in `sslrootcert`
 *   verify-full   and its name must be that of the host; without `sslrootcert` the authorities of this machine
 */
import { readFileSync } from 'node:fs'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import { StoreFault } from '../directory.ts'

type Env = Readonly<Record<string, string | undefined>>
export type Tls = { url: string; ssl: ConnectionOptions | false }

const names = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const
const modes: ReadonlySet<string> = new Set(['disable', 'require', 'verify-ca', 'verify-full'])

/** The address without what it says about TLS, and what it says. Throws a StoreFault. */
export function readTls(url: string, env: Env): Tls {
  const parsed = URL.canParse(url) ? new URL(url) : null
  const given = (name: (typeof names)[number]): string | null => {
    const said = parsed?.searchParams.get(name) ?? env[`PG${name.toUpperCase()}`] ?? ''
    parsed?.searchParams.delete(name)
    return said === '' ? null : said
  }
  const root = given('sslrootcert')
  const [mode, cert, key] = [given('sslmode'), given('sslcert'), given('sslkey')]
  // An address in numbers is not handed to TLS as a name, and would be compared with "localhost".
  const host = (parsed?.hostname ?? '').replace(/^\[|\]$/g, '') || (env['PGHOST'] ?? 'localhost')
  const bare = parsed === null ? url : parsed.href
  if (mode === null || mode === 'disable') return { url: bare, ssl: false }
  if (!modes.has(mode))
    throw new StoreFault(
      `sslmode "${mode}" is not one that Tieline knows. Use disable, require, verify-ca or verify-full; ` +
        'a connection that may or may not be encrypted protects nothing.',
    )
  const ca = root === null || root === 'system' ? null : read(root)
  if (mode === 'verify-ca' && ca === null)
    throw new StoreFault(
      'sslmode "verify-ca" needs sslrootcert: any name is accepted that this authority has signed. ' +
        'Name the file with the certificate of the authority, or use verify-full.',
    )
  return {
    url: bare,
    ssl: {
      ...(ca === null ? {} : { ca }),
      ...(cert === null ? {} : { cert: read(cert) }),
      ...(key === null ? {} : { key: read(key) }),
      ...(mode === 'require' && ca === null ? { rejectUnauthorized: false } : {}),
      checkServerIdentity:
        mode === 'verify-full' ? (_, peer) => checkServerIdentity(host, peer) : () => undefined,
    },
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new StoreFault(
      `${file} cannot be read (${(cause as Error).message}). Check its path and its rights.`,
      {
        cause,
      },
    )
  }
}
