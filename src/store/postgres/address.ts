/** Where the database is: in a variable, because its address has a password in it. */
import { StoreFault } from '../directory.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Empty where the usual variables of PostgreSQL say it. Throws a StoreFault. */
export function findAddress(urlEnv: string, env: Env): string {
  const url = env[urlEnv]
  if (url !== undefined && url !== '') return url
  if (env['PGHOST'] !== undefined || env['PGDATABASE'] !== undefined) return ''
  throw new StoreFault(
    `The log is in PostgreSQL, but the variable ${urlEnv} is not set. ` +
      'Set it to the address of the database, such as postgres://user:password@host/database.',
  )
}
