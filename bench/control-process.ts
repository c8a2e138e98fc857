/** Does nothing but look how late its own timers are: what it sees, the machine did to everybody. */
import { watchLateness } from './lateness.ts'

const stop = watchLateness(100, (window) => void process.send?.(window))
process.on('disconnect', stop)
