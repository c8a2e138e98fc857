/** Opens a session: which agent, in which directory, and what it is told first. */
import { useState } from 'react'
import { go, toSession } from '../address.ts'
import { useLive } from '../live/use-live.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'

export function NewSession({ onClose, agent: given = '' }: { onClose: () => void; agent?: string }) {
  const live = useLive()
  const agents = useLoaded('agents', (signal) => live.client.agents({ signal }))
  const usual = [...live.ledger.sessions.values()]
    .filter(({ cwd }) => cwd !== '')
    .sort((a, b) => b.updatedAt - a.updatedAt)
  const [agent, setAgent] = useState(given)
  const server = useLoaded('server', (signal) => live.client.server({ signal }))
  const [typed, setCwd] = useState<string | null>(null)
  const cwd = typed ?? usual[0]?.cwd ?? server.value?.cwd ?? ''
  const directories = [
    ...new Set([
      ...usual.map((session) => session.cwd),
      ...(server.value === null ? [] : [server.value.cwd]),
    ]),
  ].slice(0, 20)
  const [text, setText] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const open = async (): Promise<void> => {
    setBusy(true)
    try {
      const made = await live.client.sessions.create({
        cwd,
        ...(agent === '' ? {} : { agent }),
        ...(text.trim() === '' ? {} : { initialMessage: text }),
      })
      onClose()
      go(toSession(made.sessionId))
    } catch (problem) {
      setError(problem)
      setBusy(false)
    }
  }
  return (
    <Dialog title="New session" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          void open()
        }}
      >
        <label>
          Agent
          <select value={agent} onChange={(event) => setAgent(event.target.value)}>
            <option value="">The first one</option>
            {agents.value?.map(({ id, name, description }) => (
              <option key={id} value={id}>
                {name}
                {description === '' ? '' : ` — ${description}`}
              </option>
            ))}
          </select>
        </label>
        <label>
          Directory{' '}
          <input
            required
            value={cwd}
            list="directories"
            placeholder="/home/you/project"
            onChange={(event) => setCwd(event.target.value)}
          />
        </label>
        <datalist id="directories">
          {directories.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <label>
          First message{' '}
          <textarea
            rows={4}
            value={text}
            onChange={(event) => setText(event.target.value)}
            placeholder="May be left empty"
          />
        </label>
        {error !== null && <Problem what="The session was not opened." error={error} />}
        <div className="form-end">
          <button type="submit" className="primary" disabled={busy}>
            Open
          </button>
        </div>
      </form>
    </Dialog>
  )
}
