/** What the bundle of the program changes in the code that it is made of, so that it starts sooner. */
import assert from 'node:assert/strict'
import type { Plugin } from 'rolldown'

/**
 * As a module, a part of Node fills in all of its exports when it is imported, and loads what it would only load for
 * some that nobody uses. So what is imported of it is taken from it directly.
 */
export const loadBuiltins: Plugin = {
  name: 'load-builtins',
  renderChunk: (code) => code.replaceAll(/^import ([^"\n]+) from "(node:[a-z0-9_/]+)";$/gm, takeFrom),
}

function takeFrom(_import: string, names: string, module: string): string {
  const [, whole, named] = /^(?:\* as )?([\w$]+)$|^(\{.*\})$/.exec(names) ?? []
  const pattern = whole ?? named?.replaceAll(' as ', ': ')
  assert(pattern !== undefined && !/\bdefault\b/.test(pattern), `what is imported as ${names}?`)
  return `const ${pattern} = process.getBuiltinModule("${module}");`
}
