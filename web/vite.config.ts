/**
 * How the page is built: one script, one style sheet, no inlined assets, since the server's policy allows
 * nothing inline.
 */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: ['chrome125', 'firefox128', 'safari18'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
  },
  // For work on the page itself: the server runs beside it.
  server: {
    proxy: {
      '/api': 'http://127.0.0.1:8283',
      '/v1': 'http://127.0.0.1:8283',
      '/health': 'http://127.0.0.1:8283',
      '/ws': { target: 'ws://127.0.0.1:8283', ws: true },
    },
  },
})
