/** Preformatted text with a copy button. Long text is cut until the reader asks for all of it. */
import { useState, type ReactNode } from 'react'
import { after } from '../browser-clock.ts'

const shownMax = 20_000

export function CodeBlock({
  text,
  language = '',
  label,
}: {
  text: string
  language?: string
  label?: string
}) {
  const [whole, setWhole] = useState(false)
  const cut = !whole && text.length > shownMax
  const shown = cut ? text.slice(0, shownMax) : text
  const name = language.split(/\s/, 1)[0] ?? ''
  return (
    <div className="code">
      <div className="code-bar">
        <span>{label ?? name}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0} role="group" aria-label={label ?? (name === '' ? 'Code' : `Code in ${name}`)}>
        <code>{name === 'diff' ? renderDiff(shown) : shown}</code>
      </pre>
      {cut && (
        <button type="button" className="quiet" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </button>
      )}
    </div>
  )
}

const renderDiff = (text: string): ReactNode =>
  text.split('\n').map((line, index) => (
    <span
      key={index}
      className={line.startsWith('+') ? 'diff-new' : line.startsWith('-') ? 'diff-old' : undefined}
    >
      {line}
      {'\n'}
    </span>
  ))

const doneMs = 1500

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState<string | null>(null)
  const say = (word: string): void => {
    setDone(word)
    after(doneMs, () => setDone(null))
  }
  return (
    <button
      type="button"
      className="quiet"
      onClick={() =>
        void navigator.clipboard.writeText(text).then(
          () => say('Copied'),
          () => say('Not allowed'),
        )
      }
    >
      {done ?? label}
    </button>
  )
}
