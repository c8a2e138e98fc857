/**
 * Without a sandbox nothing holds the processes of a command together but their group, which they can leave, and
 * nothing ends them when the server is killed. A variable that they inherit finds them again on Linux, and a
 * process that waits for our end of a pipe ends the group when we are gone. A command that drops its environment
 * or kills that process gets away: only a sandbox keeps it.
 */
import { readdir, readFile } from 'node:fs/promises'
import type { Launch } from '../runtime/kernel/launch-port.ts'

const markVariable = 'TIELINE_COMMAND'
const roundsMax = 5
/** $$ is the leader of the group also in the part that waits. */
const watch = '(exec >/dev/null 2>&1; read _ <&3; kill -s KILL -- -$$) & exec 3<&-; exec "$0" "$@"'
let commands = 0

/** The same command, with a mark and somebody who watches us through the fourth descriptor. */
export function watchCommand(launch: Launch, startedAt: number): Launch & { mark: string } {
  commands += 1
  const mark = `${process.pid}-${commands}-${Math.trunc(startedAt)}`
  return {
    ...launch,
    program: '/bin/sh',
    args: ['-c', watch, launch.program, ...launch.args],
    env: { ...launch.env, [markVariable]: mark },
    mark,
  }
}

/** Those that left the group; they may have started others meanwhile. */
export async function endStrays(mark: string): Promise<void> {
  if (process.platform !== 'linux') return
  for (let round = 0; round < roundsMax; round += 1) {
    const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0 && pid !== process.pid)
    const found = await Promise.all(pids.map((pid) => hasMark(pid, mark)))
    const strays = pids.filter((_, index) => found[index])
    if (strays.length === 0) return
    for (const pid of strays) end(pid)
  }
}

/** A process of another user is not ours to read, and not one of the command's. */
const hasMark = async (pid: number, mark: string): Promise<boolean> => {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
  return `\0${environment}\0`.includes(`\0${markVariable}=${mark}\0`)
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
