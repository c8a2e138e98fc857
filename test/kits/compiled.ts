/**
 * For programs that get a chosen environment: what Node has compiled for other tests. Without it, a server from the
 * sources compiles several hundred files at each start. `vitest.config.ts` names the directory.
 */
export const compiled = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
