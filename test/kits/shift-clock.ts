/**
 * Loaded before a process: its wall clock is moved by so many milliseconds with every SIGUSR2, as if somebody
 * had set the machine's.
 */
const real = Date.now.bind(Date)
const byMs = Number(process.env['SHIFT_MS'] ?? 0)
let shiftedMs = 0
Date.now = () => real() + shiftedMs
process.on('SIGUSR2', () => {
  shiftedMs += byMs
  process.stderr.write(`the wall clock is ${shiftedMs} ms off\n`)
})
