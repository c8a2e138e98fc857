/**
 * What the browser keeps for the next time: the token, where the server wants one, and the look of the page.
 * The token comes by hand or once in the address, from which it is taken out at once.
 */
const place = 'tieline.token'

export function takeToken(): string | null {
  const found = /^#token=([\w.-]+)$/.exec(location.hash)?.[1]
  if (found !== undefined) {
    keepToken(found)
    history.replaceState(null, '', '#/')
  }
  return readText(place)
}

export function keepToken(token: string): void {
  writeText(place, token)
}

/** A browser may forbid to keep anything: then it is as if nothing were there. */
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
    // It is only for the next time.
  }
}
