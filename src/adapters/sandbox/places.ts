/** What a program in a sandbox may write, what it may not see, and what it may see but never change. */
import { realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { packageDir } from '../../own-files.ts'

export type PlaceOptions = {
  home: string
  /** The server's own: the log, its token and its secret. */
  dataDir: string | null
  /** The user's configuration of Tieline, with what was trusted, and the file that is used. */
  configuration: readonly string[]
  /** As configured, besides. */
  writable: readonly string[]
  hidden: readonly string[]
  /** Of this program: what it may see and change although others may not, and what it may see. */
  own?: readonly string[]
  seen?: readonly string[]
  /** Where it looks for programs: its `PATH`. */
  path?: string | undefined
}

export type Hidden = { path: string; isDirectory: boolean }

export type Places = {
  cwd: string
  /** Empty at the start, and gone at the end. */
  temporary: readonly string[]
  writable: readonly string[]
  /** Hidden, but the writable place is below it. */
  hiddenAbove: readonly Hidden[]
  hidden: readonly Hidden[]
  /** Inside a writable place, and not writable. */
  kept: readonly string[]
  /** Although what is above may be hidden. */
  own: readonly string[]
  seen: readonly string[]
}

/** Keys and credentials of the user: no program of an agent needs them unless the user says so. */
const secretPlaces = [
  '.ssh .gnupg .aws .azure .kube .docker .netrc .git-credentials .pypirc .npmrc .config/gcloud',
  '.config/gh .config/hub .config/op .config/rclone .password-store .local/share/keyrings .mozilla',
  '.config/google-chrome .config/chromium .thunderbird .claude .claude.json .codex .gemini',
  '.config/opencode .local/share/opencode .config/goose .bash_history .zsh_history .python_history',
  '.node_repl_history .psql_history .pgpass',
].flatMap((line) => line.split(' '))
const systemSecrets = ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/sudoers.d', '/etc/ssl/private']
/** What the user's own programs start with: a session in the home directory must not change it. */
const startFiles = [
  '.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .config .local/bin',
  '.local/share .gitconfig .vimrc .pam_environment .xprofile .Xresources',
].flatMap((line) => line.split(' '))
const temporaryPlaces = ['/tmp', '/var/tmp']

/** Throws where the directory is gone. */
export function findPlaces(directory: string, options: PlaceOptions): Places {
  const cwd = realpathSync.native(directory)
  // Binding the whole disk would undo everything else: a session there may write nowhere.
  const writable = [...new Set([cwd, ...options.writable.flatMap(real)])].filter((path) => path !== '/')
  const atHome = (names: readonly string[]): string[] => names.map((name) => join(options.home, name))
  const secret = [...atHome(secretPlaces), ...systemSecrets, ...options.hidden]
  if (options.dataDir !== null) secret.push(options.dataDir)
  const own = (options.own ?? []).flatMap(real)
  const hidden = [...new Set(secret.flatMap(real))]
    .filter((path) => !own.includes(path))
    .map((path) => ({ path, isDirectory: isFolder(path) }))
  const isAbove = ({ path }: Hidden): boolean => writable.some((place) => place.startsWith(`${path}/`))
  const kept = [...options.configuration, ...atHome(startFiles)]
    .flatMap(real)
    .filter((path) => writable.some((place) => isWithin(path, place)))
  const temporary = temporaryPlaces.flatMap(real)
  const isCovered = (path: string): boolean =>
    temporary.some((place) => isWithin(path, place)) &&
    !writable.some((place) => isWithin(path, place)) &&
    !hidden.some((one) => isWithin(path, one.path))
  return {
    cwd,
    temporary,
    writable,
    hiddenAbove: hidden.filter(isAbove),
    hidden: hidden.filter((one) => !isAbove(one)),
    own,
    // Programs that were installed below /tmp are there too, and so are this Node and this package.
    seen: [...(options.seen ?? []).flatMap(real), ...listPrograms(options.path).filter(isCovered)],
    kept: kept.filter((path) => !isWithin(cwd, path) && !hidden.some((one) => isWithin(path, one.path))),
  }
}

const listPrograms = (path = ''): string[] => [
  ...new Set(
    [...path.split(delimiter).filter(isAbsolute), dirname(process.execPath), packageDir].flatMap(real),
  ),
]

const isWithin = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`)
const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Without links; nothing where there is nothing. */
function real(path: string): string[] {
  try {
    return [realpathSync.native(path)]
  } catch {
    return []
  }
}
