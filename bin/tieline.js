#!/usr/bin/env node
// Plain JavaScript on purpose: it must parse on old versions of Node, so that they get one clear line instead
// of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > 24 || (major === 24 && minor >= 15)) run()
else void runWithNewer()

function run() {
  import('../dist/program/main.js').catch((error) => {
    if (error && error.code === 'ERR_MODULE_NOT_FOUND' && String(error.message).includes('program/main.js')) {
      console.error(
        'tieline is not built: run "npm run build" first, or "node src/cli/main.ts" from the sources.',
      )
    } else {
      console.error(error)
    }
    process.exit(1)
  })
}

/** A Node that npm installed beside this package, as it does in a clone. */
async function runWithNewer() {
  // Loaded only here, like the last one below: as modules they take a tenth of the time in which help is printed.
  const { existsSync } = await import('node:fs')
  const { fileURLToPath } = await import('node:url')
  const places = ['../node_modules/node/bin/node', '../../node/bin/node'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  const newer = places.find((path) => existsSync(path))
  if (newer === undefined) {
    console.error(
      `tieline needs Node 24.15 or newer, and this is ${process.versions.node}: ` +
        'install it from https://nodejs.org, or beside tieline with "npm install node@24".',
    )
    process.exit(1)
  }
  const { spawn } = await import('node:child_process')
  const child = spawn(newer, process.argv.slice(1), { stdio: 'inherit' })
  // Whoever stops this process means the other one. Ctrl-C reaches both by itself.
  process.on('SIGINT', () => undefined)
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (signal === 'SIGKILL' ? 9 : 15)))
}
