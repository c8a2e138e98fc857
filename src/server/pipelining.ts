/**
 * Requests that a client sends on one connection without reading the answers. Node reads all of them that one
 * packet brings before anybody else has a turn, and no client in use does this with more than a few.
 */
import type { Socket } from 'node:net'

const unansweredMax = 64

export type Pipelining = {
  /** False where the connection has too many unanswered requests: then it is closed. */
  begin(socket: Socket): boolean
  end(socket: Socket): void
}

export function pipelining(): Pipelining {
  const unanswered = new WeakMap<Socket, number>()
  return {
    begin(socket) {
      const count = (unanswered.get(socket) ?? 0) + 1
      unanswered.set(socket, count)
      if (count > unansweredMax) socket.destroy()
      return count <= unansweredMax
    },
    end(socket) {
      unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1)
    },
  }
}
