/**
 * `node:http` without its names of `fetch`. Imported as a module, Node fills in all of its exports, and loads
 * the whole of undici for some that nobody uses: a twentieth of the server's start.
 */
export const { createServer, request } = process.getBuiltinModule('node:http')
