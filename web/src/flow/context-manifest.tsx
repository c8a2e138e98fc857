/** What a callee was shown of its caller: what was passed, what was dropped and why, and the tokens of each part. */
import type { Manifest } from '../../../src/model/context.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { PassedMessages } from './passed-messages.tsx'

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
      <PassedMessages messages={manifest.messages} />
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
