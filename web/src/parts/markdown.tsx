/**
 * Markdown as React elements. No text ever becomes markup: HTML is shown as written, images are links, and
 * links only lead to the web.
 */
import { lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { Fragment, memo, useMemo, type ReactNode } from 'react'
import { CodeBlock } from './code-block.tsx'

/** Longer texts are shown as written, since parsing them would block the page. */
const charsMax = 60_000
const depthMax = 24

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => tokenize(text), [text])
  return tokens === null ? (
    <div className="md md-plain">{text}</div>
  ) : (
    <div className="md">{renderBlocks(tokens, 0)}</div>
  )
})

function tokenize(text: string): Token[] | null {
  if (text.length > charsMax) return null
  try {
    return lexer(text, { gfm: true, breaks: true })
  } catch {
    // The parser gives up on deeply nested text; it is shown as written.
    return null
  }
}

const renderBlocks = (tokens: readonly Token[], depth: number): ReactNode =>
  tokens.map((token, index) => <Fragment key={index}>{renderBlock(token, depth)}</Fragment>)

type Drawn<T extends MarkedToken['type']> = (
  token: Extract<MarkedToken, { type: T }>,
  depth: number,
) => ReactNode
type Drawings = { [T in MarkedToken['type']]?: Drawn<T> }

const blockDrawings: Drawings = {
  paragraph: (token, depth) => <p>{renderInlines(token.tokens, depth)}</p>,
  heading: (token, depth) => (
    <p
      className={`md-h md-h${Math.min(token.depth, 4)}`}
      role="heading"
      aria-level={Math.min(token.depth + 2, 6)}
    >
      {renderInlines(token.tokens, depth)}
    </p>
  ),
  code: (token) => <CodeBlock text={token.text} language={token.lang ?? ''} />,
  blockquote: (token, depth) => <blockquote>{renderBlocks(token.tokens, depth + 1)}</blockquote>,
  list: (token, depth) => renderList(token, depth),
  table: (token, depth) => renderTable(token, depth),
  hr: () => <hr />,
  space: () => null,
  def: () => null,
  text: (token, depth) =>
    token.tokens === undefined ? <p>{token.text}</p> : renderInlines(token.tokens, depth),
  html: (token) => <p className="md-raw">{token.raw}</p>,
}

function renderBlock(token: Token, depth: number): ReactNode {
  const draw =
    depth > depthMax
      ? undefined
      : (blockDrawings[token.type as MarkedToken['type']] as
          | ((token: Token, depth: number) => ReactNode)
          | undefined)
  return draw === undefined ? <p>{renderInline(token, depth)}</p> : draw(token, depth)
}

function renderList(token: Tokens.List, depth: number): ReactNode {
  const items = token.items.map((item, index) => (
    <li key={index} className={item.task ? 'md-task' : undefined}>
      {item.task && (
        <input
          type="checkbox"
          checked={item.checked === true}
          readOnly
          disabled
          aria-label={item.checked === true ? 'done' : 'not done'}
        />
      )}
      {renderBlocks(
        item.tokens.filter((one) => one.type !== 'checkbox'),
        depth + 1,
      )}
    </li>
  ))
  return token.ordered ? (
    <ol start={typeof token.start === 'number' ? token.start : 1}>{items}</ol>
  ) : (
    <ul>{items}</ul>
  )
}

const renderTable = (token: Tokens.Table, depth: number): ReactNode => (
  <div className="md-table" tabIndex={0} role="group" aria-label="Table">
    <table>
      <thead>
        <tr>
          {token.header.map((cell, index) => (
            <th key={index} scope="col">
              {renderInlines(cell.tokens, depth)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {token.rows.map((row, index) => (
          <tr key={index}>
            {row.map((cell, column) => (
              <td key={column}>{renderInlines(cell.tokens, depth)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const renderInlines = (tokens: readonly Token[] | undefined, depth: number): ReactNode =>
  (tokens ?? []).map((token, index) => <Fragment key={index}>{renderInline(token, depth + 1)}</Fragment>)

const inlineDrawings: Drawings = {
  strong: (token, depth) => <strong>{renderInlines(token.tokens, depth)}</strong>,
  em: (token, depth) => <em>{renderInlines(token.tokens, depth)}</em>,
  del: (token, depth) => <del>{renderInlines(token.tokens, depth)}</del>,
  codespan: (token) => <code>{token.text}</code>,
  br: () => <br />,
  link: (token, depth) => (
    <Link href={token.href} raw={token.raw}>
      {renderInlines(token.tokens, depth)}
    </Link>
  ),
  image: (token) => (
    <Link href={token.href} raw={token.raw}>
      image: {token.text === '' ? token.href : token.text}
    </Link>
  ),
  escape: (token) => token.text,
  text: (token, depth) => (token.tokens === undefined ? token.text : renderInlines(token.tokens, depth)),
}

/** Tokens without a drawing, such as tags, are shown as written. */
function renderInline(token: Token, depth: number): ReactNode {
  const draw =
    depth > depthMax
      ? undefined
      : (inlineDrawings[token.type as MarkedToken['type']] as
          | ((token: Token, depth: number) => ReactNode)
          | undefined)
  return draw === undefined ? token.raw : draw(token, depth)
}

function Link({ href, raw, children }: { href: string; raw: string; children: ReactNode }): ReactNode {
  const to = parseWebAddress(href)
  return to === null ? (
    raw
  ) : (
    <a href={to} target="_blank" rel="noopener noreferrer nofollow" title={to}>
      {children}
    </a>
  )
}

/** Null unless it is http, https or mailto. */
export function parseWebAddress(href: string): string | null {
  try {
    const url = new URL(href)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}
