/** Agrees to a configuration, as a person would with `tieline trust`. */
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { hashBytes } from '../../src/trust/config-text.ts'
import { rememberTrusted, trustDirectory } from '../../src/trust/trust-store.ts'

export function trustText(
  env: Readonly<Record<string, string | undefined>>,
  home: string,
  path: string,
  text: string,
): void {
  const file = join(realpathSync(dirname(path)), basename(path))
  rememberTrusted(trustDirectory(env, home), {
    file,
    files: [{ path: file, hash: hashBytes(text) }],
    reach: { runs: [], sends: [], keys: [], writes: [] },
    at: 0,
  })
}
