/** Settings from the OpenTelemetry variables. Without an endpoint nothing leaves the machine. */
import type { Sampling } from '../model/trace.ts'
import { table } from '../model/table.ts'

export type Env = Readonly<Record<string, string | undefined>>

export type TelemetrySettings = {
  url: string
  headers: Record<string, string>
  gzip: boolean
  timeoutMs: number
  /** How long spans are gathered before they are sent. */
  delayMs: number
  queueMax: number
  batchMax: number
  sampling: Sampling
  /** Attributes of the sender: `service.name` and more. */
  resource: Record<string, string>
  /** Whether tasks, outputs and the inputs of tools are exported. */
  content: boolean
  /** Longer values of attributes are cut. */
  valueMax: number
}

const valueMaxDefault = 16_384

export function telemetrySettings(
  env: Env,
  version: string,
  warn: (text: string) => void,
): TelemetrySettings | null {
  const url = readUrl(env, warn)
  if (
    url === null ||
    isTrue(env['OTEL_SDK_DISABLED']) ||
    /(^|,)\s*none\s*(,|$)/.test(env['OTEL_TRACES_EXPORTER'] ?? '')
  )
    return null
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? ''
  if (protocol === 'grpc')
    warn(
      'telemetry: OTLP over gRPC is not supported; spans are sent as JSON over HTTP ' +
        '(port 4318 of most collectors). Set OTEL_EXPORTER_OTLP_PROTOCOL to http/json.',
    )
  const batchMax = parseNumber(env['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'], 512, 1, 4096)
  return {
    url,
    batchMax,
    headers: {
      ...parsePairs(env['OTEL_EXPORTER_OTLP_HEADERS']),
      ...parsePairs(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS']),
    },
    gzip: (env['OTEL_EXPORTER_OTLP_TRACES_COMPRESSION'] ?? env['OTEL_EXPORTER_OTLP_COMPRESSION']) === 'gzip',
    timeoutMs: parseNumber(
      env['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'] ?? env['OTEL_EXPORTER_OTLP_TIMEOUT'],
      10_000,
      1,
      600_000,
    ),
    delayMs: parseNumber(env['OTEL_BSP_SCHEDULE_DELAY'], 5000, 0, 600_000),
    queueMax: Math.max(batchMax, parseNumber(env['OTEL_BSP_MAX_QUEUE_SIZE'], 2048, 1, 65_536)),
    sampling: readSampling(env, warn),
    resource: readResource(env, version),
    content: isTrue(env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']),
    valueMax: parseNumber(
      env['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT'] ?? env['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'],
      valueMaxDefault,
      1,
      1_048_576,
    ),
  }
}

const isTrue = (text: string | undefined): boolean => text?.trim().toLowerCase() === 'true'

/** The endpoint of traces is taken as it is; the one of all signals gets the path of traces. */
function readUrl(env: Env, warn: (text: string) => void): string | null {
  const read = (name: string): string => env[name]?.trim() ?? ''
  const variable =
    read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') === ''
      ? 'OTEL_EXPORTER_OTLP_ENDPOINT'
      : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  const given = read(variable)
  if (given === '') return null
  const url = variable === 'OTEL_EXPORTER_OTLP_ENDPOINT' ? `${given.replace(/\/+$/, '')}/v1/traces` : given
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url
  warn(
    `telemetry: ${variable} is ${JSON.stringify(given)}, but an address such as http://127.0.0.1:4318 ` +
      'is needed. No spans are exported.',
  )
  return null
}

/** `a=b,c=d`, percent-encoded; what cannot be read is left out. */
function parsePairs(text: string | undefined): Record<string, string> {
  const pairs: Record<string, string> = {}
  for (const part of (text ?? '').split(',')) {
    const at = part.indexOf('=')
    const name = at < 1 ? '' : part.slice(0, at).trim()
    if (name !== '') pairs[name] = decode(part.slice(at + 1).trim())
  }
  return pairs
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // It was not percent-encoded.
    return text
  }
}

function parseNumber(text: string | undefined, otherwise: number, min: number, max: number): number {
  const number = Number(text?.trim() === '' ? undefined : text)
  return Number.isFinite(number) ? Math.min(max, Math.max(min, Math.floor(number))) : otherwise
}

function readSampling(env: Env, warn: (text: string) => void): Sampling {
  const name = env['OTEL_TRACES_SAMPLER']?.trim() ?? ''
  const share = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? '1')
  const ratio = Number.isFinite(share) && share >= 0 && share <= 1 ? share : 1
  const known = table<Sampling>({
    '': { follow: true, ratio: 1 },
    always_on: { follow: false, ratio: 1 },
    always_off: { follow: false, ratio: 0 },
    traceidratio: { follow: false, ratio },
    parentbased_always_on: { follow: true, ratio: 1 },
    parentbased_always_off: { follow: true, ratio: 0 },
    parentbased_traceidratio: { follow: true, ratio },
  })
  const found = known[name]
  if (found !== undefined) return found
  const names = Object.keys(known).filter((one) => one !== '')
  warn(
    `telemetry: OTEL_TRACES_SAMPLER is "${name}"; the known ones are ${names.join(', ')}. Everything is sampled.`,
  )
  return { follow: true, ratio: 1 }
}

function readResource(env: Env, version: string): Record<string, string> {
  const given = parsePairs(env['OTEL_RESOURCE_ATTRIBUTES'])
  const name = env['OTEL_SERVICE_NAME']?.trim() ?? ''
  return {
    'service.name': 'tieline',
    'service.version': version,
    ...given,
    ...(name === '' ? {} : { 'service.name': name }),
    'telemetry.sdk.name': 'tieline',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.version': version,
  }
}
