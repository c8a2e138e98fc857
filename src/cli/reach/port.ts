/** Whether a port can be listened on. */
import { createServer } from 'node:net'

export const isPortTaken = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'EADDRINUSE'

/**
 * Another fault, such as an address that this machine does not have, is left for whoever listens in earnest.
 */
export function isPortFree({ host, port }: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(!isPortTaken(error)))
    server.listen({ host, port }, () => server.close(() => resolve(true)))
  })
}
