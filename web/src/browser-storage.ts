/**
 * What the browser stores for the next visit: the token, if the server needs one, and preferences. A token in
 * the address is removed from it at once.
 */
const place = 'tieline.token'

export function takeToken(): string | null {
  const found = /^#token=([\w.-]+)$/.exec(location.hash)?.[1]
  if (found !== undefined) {
    storeToken(found)
    history.replaceState(null, '', '#/')
  }
  return readText(place)
}

export function storeToken(token: string): void {
  writeText(place, token)
}

/** A browser may forbid storage; then nothing is stored. */
export function readText(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

export function writeText(name: string, text: string): void {
  try {
    localStorage.setItem(name, text)
  } catch {
    // Only the next visit would need it.
  }
}
