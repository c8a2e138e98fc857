/** The keyboard shortcuts, and the switch that turns single letters off. */
import { useState } from 'react'
import { lettersOn, setLetters } from './keys.ts'
import { CheckBox } from './parts/check-box.tsx'
import { Dialog } from './parts/dialog.tsx'

export function KeyHelp({
  views,
  onClose,
}: {
  views: readonly { title: string; key: string }[]
  onClose: () => void
}) {
  const [on, setOn] = useState(lettersOn)
  const keys: [string, string][] = [
    ['j  k', 'next, previous in a list'],
    ['Enter', 'open'],
    ['/', 'search'],
    ['c', 'write a message'],
    ['Esc', 'close, leave a field'],
    ['←  →', 'in a tree: close, open; on the slider: one event back, on'],
    ['?', 'this list'],
    ...views.map(({ title, key }): [string, string] => [`g ${key}`, title]),
  ]
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <CheckBox
        label="Single letters are keys"
        checked={on}
        onChange={(checked) => {
          setLetters(checked)
          setOn(checked)
        }}
      />
      <p className="hint">
        The same data: <a href="/docs/">the API</a>, <code>tieline --help</code>.
      </p>
    </Dialog>
  )
}
