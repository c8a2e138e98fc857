/** Explains faults of the file system: which file or directory, and what to do. Pure. */
import { dirname } from 'node:path'

type SystemError = Error & { code?: unknown; path?: unknown; syscall?: unknown }

const elsewhere = 'choose another data directory with --data-dir DIR or TIELINE_DATA_DIR'

/** Null for anything but a fault of the file system. */
export function describeSystemFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, path, syscall } = error as SystemError
  if (typeof path !== 'string' || typeof syscall !== 'string') return null
  // The file may have a temporary name that means nothing to the user.
  const directory = syscall === 'mkdir' || syscall === 'scandir' ? path : dirname(path)
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS': {
      const why = code === 'EROFS' ? ' (its file system is read-only)' : ''
      return `${directory} cannot be written to${why}: change its permissions, or ${elsewhere}.`
    }
    case 'EEXIST':
      return `${path} is a file, but a directory is needed: ${elsewhere}.`
    case 'ENOTDIR':
      return `${path} cannot be there, because a part of it is a file and not a directory: ${elsewhere}.`
    case 'ENOSPC':
      return `there is no space left for ${path}: make room, or ${elsewhere}.`
    default:
      return null
  }
}
