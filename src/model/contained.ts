import { jsonHead } from './json-head.ts'

/**
 * Listeners of sockets, streams, timers and workers run on an empty stack: what they throw would end the
 * process. A contained one hands its fault to the owner of the connection, which ends that connection and
 * nothing else.
 */
export function contained<Given extends unknown[]>(
  broke: (fault: unknown) => void,
  listen: (...given: Given) => unknown,
): (...given: Given) => void {
  return (...given) => {
    try {
      const done = listen(...given)
      if (done instanceof Promise) done.catch((fault: unknown) => tell(broke, fault))
    } catch (fault) {
      tell(broke, fault)
    }
  }
}

/** Listens to what `source` emits, contained. */
export function listen<Given extends unknown[]>(
  source: { on(event: string, listener: (...given: Given) => void): unknown },
  event: string,
  broke: (fault: unknown) => void,
  listener: (...given: Given) => unknown,
): void {
  source.on(event, contained(broke, listener))
}

/** Calls each; one that throws keeps none of the others from being called. */
export function callEach<Given extends unknown[]>(
  broke: (fault: unknown) => void,
  listeners: Iterable<(...given: Given) => unknown>,
  ...given: Given
): void {
  for (const listener of listeners) contained(broke, listener)(...given)
}

/** There is nobody left to tell when the telling fails too. */
function tell(broke: (fault: unknown) => void, fault: unknown): void {
  try {
    broke(fault)
  } catch {
    // Nothing: the process goes on.
  }
}

/** What a fault says, for a sentence. */
export const faultMessage = (fault: unknown): string =>
  fault instanceof Error ? fault.message : String(fault)

/** For a log: where a fault came from, and what was behind it. */
export function faultText(fault: unknown): string {
  if (!(fault instanceof Error)) return jsonHead(fault)
  const text = fault.stack ?? fault.message
  const { cause } = fault
  if (cause === undefined) return text
  return `${text}\ncaused by: ${cause instanceof Error ? (cause.stack ?? cause.message) : jsonHead(cause)}`
}
