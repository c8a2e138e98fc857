/**
 * Runs after an install and builds the page and the program, so that a fresh clone has both. Without the
 * development dependencies it warns and does nothing. Plain JavaScript, since an install may run on an older
 * Node.
 */
import { execFileSync } from 'node:child_process'

try {
  import.meta.resolve('vite')
  import.meta.resolve('typescript/package.json')
} catch {
  console.warn('tieline: nothing was built, since the development dependencies are not installed')
  process.exit(0)
}
for (const script of ['build:page', 'build'])
  execFileSync('npm', ['run', '--silent', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
