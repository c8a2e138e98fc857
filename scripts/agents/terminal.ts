/** A program in a terminal of its own, as a person has it open: tmux shows its screen and types into it. */
import { execFileSync } from 'node:child_process'
import { cleanEnv } from './process.ts'
import type { AgentPlace } from './programs.ts'

export type Terminal = {
  screen(): string
  type(...keys: string[]): void
  /** The process that the terminal was opened with. */
  pid(): number
  isOpen(): boolean
  close(): void
}

export function hasTmux(): boolean {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const columns = '140'
const rows = '50'

export function openTerminal(
  place: AgentPlace,
  name: string,
  { command, args }: { command: string; args: readonly string[] },
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Terminal {
  const socket = `tieline-${process.pid}`
  const tmux = (...words: string[]): string =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...words], {
      encoding: 'utf8',
      env: { ...cleanEnv(place), TERM: 'xterm-256color' },
    })
  const variables = Object.entries({ ...cleanEnv(place), ...env, TERM: 'xterm-256color' })
  const all = ['-i', ...variables.map(([key, value]) => `${key}=${value}`), command, ...args]
  const opening = [
    'new-session',
    '-d',
    '-s',
    name,
    '-x',
    columns,
    '-y',
    rows,
    '-c',
    cwd,
    '/usr/bin/env',
    ...all,
  ]
  // What a program that has ended said last is worth seeing.
  tmux('start-server', ';', 'set-option', '-g', 'remain-on-exit', 'on', ';', ...opening)
  return {
    screen: () => tmux('capture-pane', '-p', '-t', name),
    type: (...keys) => void tmux('send-keys', '-t', name, ...keys),
    pid: () => Number(tmux('display-message', '-p', '-t', name, '#{pane_pid}')),
    isOpen() {
      return tmux('list-panes', '-t', name, '-F', '#{pane_dead}').trim() === '0'
    },
    close() {
      try {
        tmux('kill-session', '-t', name)
      } catch {
        // It has ended by itself.
      }
    },
  }
}
