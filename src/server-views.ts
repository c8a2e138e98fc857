/** What a server derives from the log while it runs. */
import { priceTable } from './runtime/kernel/prices-port.ts'
import { systemClock, wakeLater, watchLoopLag } from './runtime/kernel/system-clock.ts'
import type { OpenLine } from './open-line.ts'
import { version } from './version.ts'
import type { MailView } from './views/mail-view.ts'
import { metricsView } from './views/metrics.ts'
import type { NotifyView } from './views/notify.ts'
import type { TelemetryView } from './views/telemetry.ts'
import { totalsFile } from './views/totals-file.ts'
import { totalsView } from './views/totals.ts'
import type { Numbers } from './wire/server.ts'

const countAfterMs = 2000

/** Feeds the events of a line to its views: traces, mail as files, notifications, metrics and totals. */
export function watchLine(
  line: OpenLine,
  telemetry: TelemetryView | null,
  mail: MailView | null,
  notify: NotifyView | null,
  webSockets: () => number,
  dataDir: string,
) {
  const lag = watchLoopLag()
  const { log } = line.desks.as({})
  const metrics = metricsView({
    clock: systemClock,
    version,
    live: async () => ({
      running: line.running(),
      webSockets: webSockets(),
      storeOk: line.store.health().state === 'ok',
      ...(await line.store.lists.counts()),
      nodes: await log.nodes().then(
        (listed) => ('nodes' in listed ? listed.nodes : null),
        () => null, // The database is away; `storeOk` says so.
      ),
    }),
    lag: () => lag.look(),
  })
  const unfollow = log.follow(log.lastSeq(), null, {
    events(events) {
      metrics.events(events)
      telemetry?.events(events)
      mail?.events(events)
      notify?.events(events)
    },
    delta: () => undefined,
  })
  const totals = totalsView({
    clock: systemClock,
    store: line.store,
    file: totalsFile(dataDir, line.store),
    log,
    report: (fault) => process.emitWarning(fault instanceof Error ? fault : String(fault)),
  })
  // Counted before somebody asks, once the server has answered its first requests.
  const forget = wakeLater(countAfterMs, () => void totals.begun())
  return {
    metrics,
    async numbers(since: number | null): Promise<Numbers> {
      await totals.begun()
      const { upTo, end, ...sums } = totals.read(since)
      const { name: table, version: of, date } = priceTable
      return { ...sums, upTo: String(upTo), end: String(end), prices: { table, version: of, date } }
    },
    async close() {
      unfollow()
      forget()
      await totals.close()
      lag.stop()
      await telemetry?.close()
      await mail?.close()
      await notify?.close()
    },
  }
}
