import { boundaryFrom } from '../src/model/frame.ts'
import type { RuntimePorts } from '../src/runtime/sessions/runtime.ts'
import type { Host } from './host.ts'
import type { Scheduler } from './scheduler.ts'

/** The first id names the node; later ones sort by time. */
export function makeIds(
  { index, life }: Pick<Host, 'index' | 'life'>,
  name: string,
  scheduler: Scheduler,
): RuntimePorts['ids'] {
  let serial = 0
  return {
    next: () => {
      serial += 1
      if (serial === 1) return `${name}-1`
      return `${scheduler.now.toString(36)}-${index}-${life}-${serial.toString(36).padStart(4, '0')}`
    },
    boundary: () => boundaryFrom(serial * 7919 + life),
  }
}
