/** The dialog that opens a session: the agent, the directory and the first message. */
import { useState } from 'react'
import { go, linkToSession } from '../address.ts'
import type { Live } from '../live/live.ts'
import { useLive } from '../live/use-live.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/states.tsx'
import { useLoaded } from '../parts/use-loaded.ts'

export function NewSession({ onClose, agent: given = '' }: { onClose: () => void; agent?: string }) {
  const live = useLive()
  const agents = useLoaded('agents', (signal) => live.client.agents({ signal }))
  const [agent, setAgent] = useState(given)
  const directories = useDirectories(live)
  const [typed, setCwd] = useState<string | null>(null)
  const cwd = typed ?? directories[0] ?? ''
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
      go(linkToSession(made.sessionId))
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
        <DirectoryField value={cwd} directories={directories} onChange={setCwd} />
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

const directoriesMax = 20

/** Where sessions were opened before, newest first, and then where the server runs. */
function useDirectories(live: Live): string[] {
  const server = useLoaded('server', (signal) => live.client.server({ signal }))
  const used = [...live.ledger.sessions.values()]
    .filter(({ cwd }) => cwd !== '')
    .sort((a, b) => b.updatedAt - a.updatedAt)
    .map(({ cwd }) => cwd)
  return [...new Set([...used, ...(server.value === null ? [] : [server.value.cwd])])].slice(
    0,
    directoriesMax,
  )
}

const DirectoryField = ({
  value,
  directories,
  onChange,
}: {
  value: string
  directories: readonly string[]
  onChange: (directory: string) => void
}) => (
  <>
    <label>
      Directory{' '}
      <input
        required
        value={value}
        list="directories"
        placeholder="/home/you/project"
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
    <datalist id="directories">
      {directories.map((one) => (
        <option key={one} value={one} />
      ))}
    </datalist>
  </>
)
