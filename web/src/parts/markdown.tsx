/**
 * Markdown as elements of our own. Nothing of a text ever becomes markup: HTML in it is shown as it is
 * written, images are links, links lead only to the web.
 */
import { lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { Fragment, memo, useMemo, type ReactNode } from 'react'
import { CodeBlock } from './code-block.tsx'

/**
 * Longer texts are shown as they are written: nobody reads that much, and parsing it would hold up the page.
 */
const charsMax = 60_000
const depthMax = 24

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => tokensOf(text), [text])
  return tokens === null ? (
    <div className="md md-plain">{text}</div>
  ) : (
    <div className="md">{blocks(tokens, 0)}</div>
  )
})

function tokensOf(text: string): Token[] | null {
  if (text.length > charsMax) return null
  try {
    return lexer(text, { gfm: true, breaks: true })
  } catch {
    // A text can be nested so deeply that the parser gives up; it is still a text.
    return null
  }
}

const blocks = (tokens: readonly Token[], depth: number): ReactNode =>
  tokens.map((token, index) => <Fragment key={index}>{block(token, depth)}</Fragment>)

type Drawn<T extends MarkedToken['type']> = (
  token: Extract<MarkedToken, { type: T }>,
  depth: number,
) => ReactNode
type Drawings = { [T in MarkedToken['type']]?: Drawn<T> }

const blockDrawings: Drawings = {
  paragraph: (token, depth) => <p>{inlines(token.tokens, depth)}</p>,
  heading: (token, depth) => (
    <p
      className={`md-h md-h${Math.min(token.depth, 4)}`}
      role="heading"
      aria-level={Math.min(token.depth + 2, 6)}
    >
      {inlines(token.tokens, depth)}
    </p>
  ),
  code: (token) => <CodeBlock text={token.text} language={token.lang ?? ''} />,
  blockquote: (token, depth) => <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>,
  list: (token, depth) => list(token, depth),
  table: (token, depth) => table(token, depth),
  hr: () => <hr />,
  space: () => null,
  def: () => null,
  text: (token, depth) => (token.tokens === undefined ? <p>{token.text}</p> : inlines(token.tokens, depth)),
  html: (token) => <p className="md-raw">{token.raw}</p>,
}

function block(token: Token, depth: number): ReactNode {
  const draw =
    depth > depthMax
      ? undefined
      : (blockDrawings[token.type as MarkedToken['type']] as
          | ((token: Token, depth: number) => ReactNode)
          | undefined)
  return draw === undefined ? <p>{inline(token, depth)}</p> : draw(token, depth)
}

function list(token: Tokens.List, depth: number): ReactNode {
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
      {blocks(
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

const table = (token: Tokens.Table, depth: number): ReactNode => (
  <div className="md-table" tabIndex={0} role="group" aria-label="Table">
    <table>
      <thead>
        <tr>
          {token.header.map((cell, index) => (
            <th key={index} scope="col">
              {inlines(cell.tokens, depth)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {token.rows.map((row, index) => (
          <tr key={index}>
            {row.map((cell, column) => (
              <td key={column}>{inlines(cell.tokens, depth)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const inlines = (tokens: readonly Token[] | undefined, depth: number): ReactNode =>
  (tokens ?? []).map((token, index) => <Fragment key={index}>{inline(token, depth + 1)}</Fragment>)

const inlineDrawings: Drawings = {
  strong: (token, depth) => <strong>{inlines(token.tokens, depth)}</strong>,
  em: (token, depth) => <em>{inlines(token.tokens, depth)}</em>,
  del: (token, depth) => <del>{inlines(token.tokens, depth)}</del>,
  codespan: (token) => <code>{token.text}</code>,
  br: () => <br />,
  link: (token, depth) => (
    <Link href={token.href} raw={token.raw}>
      {inlines(token.tokens, depth)}
    </Link>
  ),
  image: (token) => (
    <Link href={token.href} raw={token.raw}>
      image: {token.text === '' ? token.href : token.text}
    </Link>
  ),
  escape: (token) => token.text,
  text: (token, depth) => (token.tokens === undefined ? token.text : inlines(token.tokens, depth)),
}

/** What has no drawing, tags among it, is shown as it is written. */
function inline(token: Token, depth: number): ReactNode {
  const draw =
    depth > depthMax
      ? undefined
      : (inlineDrawings[token.type as MarkedToken['type']] as
          | ((token: Token, depth: number) => ReactNode)
          | undefined)
  return draw === undefined ? token.raw : draw(token, depth)
}

function Link({ href, raw, children }: { href: string; raw: string; children: ReactNode }): ReactNode {
  const to = webAddress(href)
  return to === null ? (
    raw
  ) : (
    <a href={to} target="_blank" rel="noopener noreferrer nofollow" title={to}>
      {children}
    </a>
  )
}

/** Only http, https and mail: everything else is not a place to go to. */
export function webAddress(href: string): string | null {
  try {
    const url = new URL(href)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}
