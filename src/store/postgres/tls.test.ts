import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../../test/kits/postgres.ts'
import { connect, LinkFault } from './link.ts'
import { readTls } from './tls.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

/** A certificate for "localhost" that it has signed itself. */
function makeCertificate(): { directory: string; cert: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), 'tieline-tls-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const [cert, key] = [join(directory, 'server.crt'), join(directory, 'server.key')]
  const asked = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  spawnSync('openssl', [...asked, '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert])
  chmodSync(directory, 0o755)
  chmodSync(key, 0o600)
  if (process.getuid?.() === 0) for (const file of [cert, key]) chownSync(file, 65534, 65534)
  return { directory, cert, key }
}

test.skipIf(!hasOpenssl)(
  'TLS to a real server: each mode trusts what libpq would, and nothing else',
  async () => {
    const { cert, key } = makeCertificate()
    const postgres = await startPostgres({
      settings: ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`],
    })
    if (postgres === null) return
    onTestFinished(() => postgres.stop())
    const isEncrypted = async (host: string, query: string): Promise<string | null> => {
      const link = await connect({ url: `postgres://tieline@${host}:${postgres.port}/postgres${query}` })
      const [answer] = await link.run('select ssl::text from pg_stat_ssl where pid = pg_backend_pid()')
      link.close()
      return answer?.rows[0]?.['ssl'] ?? null
    }
    expect(await isEncrypted('127.0.0.1', '')).toBe('false')
    expect(await isEncrypted('127.0.0.1', '?sslmode=require')).toBe('true')
    await expect(isEncrypted('localhost', '?sslmode=verify-full')).rejects.toThrow(LinkFault)
    expect(await isEncrypted('127.0.0.1', `?sslmode=verify-ca&sslrootcert=${cert}`)).toBe('true')
    expect(await isEncrypted('localhost', `?sslmode=verify-full&sslrootcert=${cert}`)).toBe('true')
    // The certificate is not for this name.
    await expect(isEncrypted('127.0.0.1', `?sslmode=verify-full&sslrootcert=${cert}`)).rejects.toThrow(
      LinkFault,
    )
  },
)

test('what the address says comes before the variables, and is not handed on', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'tieline-tls-')), 'ca.crt')
  writeFileSync(file, 'a certificate')
  const env = { PGSSLMODE: 'require', PGSSLROOTCERT: file }
  expect(readTls('postgres://db/x?sslmode=disable&application_name=y', env)).toEqual({
    url: 'postgres://db/x?application_name=y',
    ssl: false,
  })
  expect(readTls('', env)).toMatchObject({ url: '', ssl: { ca: 'a certificate' } })
  // Whoever names an authority trusts no other.
  expect(readTls('', env).ssl).not.toHaveProperty('rejectUnauthorized')
  expect(readTls('', { PGSSLMODE: 'require' }).ssl).toMatchObject({ rejectUnauthorized: false })
  expect(readTls('postgres://db/x?sslmode=verify-full', {}).ssl).not.toHaveProperty('rejectUnauthorized')
})

test('a mode that protects nothing, or misses what it needs, is refused with what to do', () => {
  expect(() => readTls('postgres://db/x?sslmode=prefer', {})).toThrow('Use disable, require, verify-ca')
  expect(() => readTls('postgres://db/x?sslmode=verify-ca', {})).toThrow('needs sslrootcert')
  expect(() => readTls('postgres://db/x?sslmode=require&sslrootcert=/no/such', {})).toThrow('cannot be read')
})
