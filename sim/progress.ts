/** How far it is: one line that is rewritten on a terminal, a line every tenth part elsewhere. */
export type Progress = { show(done: number, note: string): void; end(): void }

const width = 30

export function startProgress(total: number, what: string): Progress {
  const { stderr } = process
  const terminal = stderr.isTTY
  let tenths = 0
  return {
    show(done, note) {
      const share = done / Math.max(1, total)
      if (terminal) {
        const filled = Math.round(share * width)
        stderr.write(
          `\r\u001b[K${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${done}/${total} ${what} ${note}`,
        )
      } else if (Math.floor(share * 10) > tenths) {
        tenths = Math.floor(share * 10)
        stderr.write(`${done}/${total} ${what} ${note}\n`)
      }
    },
    end: () => void (terminal && stderr.write('\r\u001b[K')),
  }
}
