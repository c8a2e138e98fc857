/**
 * What a client says about itself in headers, at every door: its own name for its session, and its directory.
 */

export const clientSessionHeader = 'x-tieline-client-session'
export const cwdHeader = 'x-tieline-cwd'

const pathUnitsMax = 4096
/** A longer name of a session is none: nobody's own ids are that long. */
const nameUnitsMax = 200

/** Browsers read this too, so it asks nothing of Node. */
const isAbsolute = (path: string): boolean => path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)

export const isPath = (path: string | undefined): path is string =>
  path !== undefined && path.length <= pathUnitsMax && isAbsolute(path) && !path.includes('\0')

/** A variable that a client did not fill in is nothing that it said. */
const isFilledIn = (text: string): boolean => !text.includes('${')

const isName = (text: string): boolean => text.length <= nameUnitsMax && isFilledIn(text)

export function readClientHeaders(header: (name: string) => string | undefined): {
  session: string | undefined
  cwd: string | undefined
} {
  const session = header(clientSessionHeader)
  const path = decodePath(header(cwdHeader))
  return {
    session: session !== undefined && isName(session) ? session : undefined,
    cwd: isPath(path) && isFilledIn(path) ? path : undefined,
  }
}

/** Headers hold no more than Latin letters, so a path comes percent-encoded. */
function decodePath(header: string | undefined): string | undefined {
  try {
    return header === undefined ? undefined : decodeURIComponent(header)
  } catch {
    // Not encoded, and with a percent sign of its own: taken as it is.
    return header
  }
}
