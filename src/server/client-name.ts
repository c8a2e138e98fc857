/** What a client of the HTTP routes says about itself. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ClientProgram } from '../model/client-address.ts'
import { readClientHeaders } from '../model/client-headers.ts'

const nameCharsMax = 64

/** The product of its User-Agent, so that each program has one session of its own. */
export function readClientName(userAgent: string | undefined): string {
  const product = /^[A-Za-z0-9][A-Za-z0-9._-]*/
    .exec(userAgent ?? '')?.[0]
    .toLowerCase()
    .slice(0, nameCharsMax)
  return product ?? 'http'
}

export function readClient(headers: IncomingHttpHeaders): ClientProgram {
  const said = readClientHeaders((name) => {
    const value = headers[name]
    return typeof value === 'string' ? value : undefined
  })
  return { name: readClientName(headers['user-agent']), ...said }
}
