/** What a client may ask of the server, and how long it may take. */
export type HttpLimits = {
  bodyBytesMax: number
  /** Of one client: an address and who it is. */
  requestsPerMinute: number
  /** Event streams and sockets at once. */
  listenersMax: number
  /** What a listener may be behind, once it is up to date, before it is dropped. */
  bufferedBytesMax: number
  /** What all listeners together may not have taken; beyond it, those that hold most are dropped. */
  bufferedBytesTotalMax: number
  connectionsMax: number
  /** Until a request has come as a whole, and until its headers have. */
  requestMsMax: number
  headersMsMax: number
  /** Streams get a comment each beat, sockets a ping each second one. */
  beatMs: number
}

export const httpLimitsDefault: HttpLimits = {
  bodyBytesMax: 1024 * 1024,
  requestsPerMinute: 6000,
  listenersMax: 2000,
  bufferedBytesMax: 1024 * 1024,
  bufferedBytesTotalMax: 128 * 1024 * 1024,
  connectionsMax: 10_000,
  requestMsMax: 30_000,
  headersMsMax: 10_000,
  beatMs: 15_000,
}

export const headerBytesMax = 16 * 1024

export const keepAliveMs = 72_000
