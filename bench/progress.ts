/** Progress on stderr: a bar on a terminal, a line per step otherwise. */

export type Progress = {
  /** Says how many steps the next part has. */
  part(name: string, steps: number): void
  step(what: string): void
  end(): void
}

const barWidth = 24

export function createProgress(stream: NodeJS.WriteStream): Progress {
  let name = ''
  let steps = 1
  let done = 0
  const startedAt = performance.now()
  const clear = stream.isTTY ? '\r\u001b[2K' : ''
  return {
    part(next, count) {
      name = next
      steps = count
      done = 0
    },
    step(what) {
      done = Math.min(steps, done + 1)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(3)
      if (!stream.isTTY) {
        stream.write(`${seconds} s  ${name} ${done}/${steps}: ${what}\n`)
        return
      }
      const full = Math.round((done / steps) * barWidth)
      const bar = `${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`
      const text = `${seconds} s  ${name.padEnd(12)} ${bar} ${done}/${steps} ${what}`
      stream.write(clear + text.slice(0, Math.max(40, stream.columns - 1)))
    },
    end() {
      if (stream.isTTY) stream.write(clear)
    },
  }
}
