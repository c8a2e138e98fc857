/**
 * What the kernel makes up, where files show this process and its keys. `path` has no links. A thread that
 * searches files loads this alone.
 */
export const isOfSystem = (path: string): boolean => /^\/(?:proc|sys|dev)(?:\/|$)/.test(path)
