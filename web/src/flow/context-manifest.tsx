/** What a callee was shown of its caller: what was passed, what was dropped and why, and the tokens of each part. */
import type { Manifest } from '../../../src/model/context.ts'
import { pluralize } from '../format.ts'
import { CodeBlock } from '../parts/code-block.tsx'

const dropWords: Record<string, string> = {
  age: 'too old',
  roles: 'of other roles',
  keywords: 'without a keyword',
  last: 'before the last ones asked for',
  last_messages: 'before the last ones asked for',
  fit: 'did not fit the budget',
  budget: 'did not fit the budget',
  tokens: 'did not fit the budget',
}

export function ContextManifest({ manifest }: { manifest: Manifest }) {
  const parts = Object.entries(manifest.parts).filter(([, tokens]) => tokens > 0)
  const spoken = parts.map(([part, tokens]) => `${part} ${tokens}`).join(', ')
  return (
    <div className="manifest">
      <p>
        <strong>{manifest.tokens}</strong> of {manifest.tokensMax} tokens passed
      </p>
      <svg
        className="manifest-bar"
        role="img"
        aria-label={`Parts of the context: ${spoken}, of ${manifest.tokensMax}`}
      >
        {parts.map(([part, tokens], index) => {
          const before = parts.slice(0, index).reduce((sum, [, count]) => sum + count, 0)
          const whole = Math.max(1, manifest.tokensMax, manifest.tokens)
          return (
            <rect
              key={part}
              className={`part part-${index % 6}`}
              x={`${(before / whole) * 100}%`}
              width={`${Math.max(0.4, (tokens / whole) * 100)}%`}
              height="14"
            >
              <title>{`${part}: ${tokens} tokens`}</title>
            </rect>
          )
        })}
      </svg>
      <ul className="parts">
        {parts.map(([part, tokens], index) => (
          <li key={part}>
            <i className={`part part-${index % 6}`} />
            {part} <span className="number">{tokens}</span>
          </li>
        ))}
      </ul>
      <Messages messages={manifest.messages} />
      {manifest.summary !== null && (
        <details>
          <summary>Summary that was passed</summary>
          <CodeBlock text={manifest.summary} label="Summary" />
        </details>
      )}
      {manifest.workspace !== null && (
        <details>
          <summary>Workspace text that was passed</summary>
          <CodeBlock text={manifest.workspace} label="Workspace" />
        </details>
      )}
    </div>
  )
}

function Messages({ messages }: { messages: Manifest['messages'] }) {
  if (messages === null) return <p className="hint">No messages were asked for, so none were passed.</p>
  const dropped = Object.entries(messages.dropped).filter(([, count]) => count > 0)
  return (
    <>
      <p>
        {messages.passed.length} of {pluralize(messages.total, 'message')} of the caller passed
        {messages.roles === null ? '' : ` (${messages.roles.join(', ')})`}
        {messages.passed.length > 0 && (
          <span className="hint">
            : #{messages.passed.slice(0, 20).join(', #')}
            {messages.passed.length > 20 ? ' …' : ''}
          </span>
        )}
      </p>
      {dropped.length > 0 && (
        <ul className="dropped">
          {dropped.map(([why, count]) => (
            <li key={why}>
              <span className="number">{count}</span> dropped: {dropWords[why] ?? why}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
