/** Says when the page is not live, and what to do about it. */
import { useState } from 'react'
import { storeToken } from './browser-storage.ts'
import { useLiveTopic } from './live/use-live.ts'

export function ConnectionBar() {
  const live = useLiveTopic('connection')
  const connection = live.connection()
  const { problem } = live.loaded()
  if (connection.state === 'lost')
    return (
      <p className="bar bar-bad" role="status">
        The connection to the server was lost ({live.lostWhy()}). Trying again; nothing is missed when it is
        back.
      </p>
    )
  if (connection.state === 'refused')
    return (
      <p className="bar bar-bad" role="alert">
        The server does not let this page listen: {connection.why}
      </p>
    )
  if (problem !== null)
    return (
      <p className="bar bar-bad" role="alert">
        Not everything could be read: {problem}{' '}
        <button type="button" onClick={() => location.reload()}>
          Read again
        </button>
      </p>
    )
  if (connection.state === 'connecting' && live.lostWhy() !== '')
    return (
      <p className="bar bar-bad" role="status">
        No server answers at {location.origin} ({live.lostWhy()}). Start it with “tieline serve”; this page
        reconnects by itself.
      </p>
    )
  return null
}

export function TokenForm({ why }: { why: string }) {
  const [token, setToken] = useState('')
  return (
    <main className="token-form">
      <h1>Tieline</h1>
      <p>{why}</p>
      <p>
        The token is in the file <code>token</code> of the server's data directory, or in{' '}
        <code>TIELINE_TOKEN</code>. It stays in this browser.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          storeToken(token.trim())
          location.reload()
        }}
      >
        <label>
          Token{' '}
          <input
            type="password"
            autoComplete="off"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            required
          />
        </label>
        <button type="submit" className="primary">
          Use it
        </button>
      </form>
    </main>
  )
}
