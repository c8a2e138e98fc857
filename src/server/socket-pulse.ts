/** Whether a WebSocket client is still there. */
import { type WebSocket } from 'ws'
import { contained } from '../model/contained.ts'

/** Pongs are ours to send, so that a peer that only pings and never reads fills no buffer. */
export function answerPings(
  ws: WebSocket,
  bufferedBytesMax: number,
  onFault: (fault: unknown) => void,
): void {
  ws.on(
    'ping',
    contained(onFault, (data: Buffer) => (ws.bufferedAmount < bufferedBytesMax ? ws.pong(data) : undefined)),
  )
}

export type Pulse = { beat(): void; isThere(): void }

/** Asked at every second beat; whoever has not answered by the next time is gone. */
export function createPulse(ws: WebSocket, onFault: (fault: unknown) => void): Pulse {
  let beats = 0
  let answered = true
  const isThere = (): void => void (answered = true)
  ws.on('pong', contained(onFault, isThere))
  ws.on('ping', contained(onFault, isThere))
  return {
    isThere,
    beat() {
      beats += 1
      if (beats % 2 !== 0) return
      if (!answered) return ws.terminate()
      answered = false
      ws.ping()
    },
  }
}
