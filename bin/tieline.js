#!/usr/bin/env node
// Plain JavaScript on purpose: it must parse on old versions of Node, so that they get one clear line instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 15)) {
  console.error(`tieline needs Node 24.15 or newer, and this is ${process.versions.node}: install it from https://nodejs.org, or run "npx -p node@24 -p tieline tieline".`)
  process.exit(1)
}
import('../dist/program/main.js').catch((error) => {
  if (error && error.code === 'ERR_MODULE_NOT_FOUND' && String(error.message).includes('program/main.js')) {
    console.error('tieline is not built: run "npm run build" first, or "node src/cli/main.ts" from the sources.')
  } else {
    console.error(error)
  }
  process.exit(1)
})
