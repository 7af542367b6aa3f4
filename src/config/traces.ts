/** Traces to a collector, from the configuration. */

import { systemClock } from '../core/clock.ts'
import { WatchedFile } from '../core/watched-file.ts'
import { type HeadersRead, parseHeaders } from '../telemetry/headers-file.ts'
import type { Observer } from '../telemetry/telemetry.ts'
import { type Posted, TraceExporter } from '../telemetry/tracing-export.ts'
import { collectorAt } from '../telemetry/tracing-post.ts'
import { version } from '../version.ts'
import type { Config } from './schema.ts'

export interface Traces {
  readonly figures: TraceExporter['figures']
  close(): Promise<void>
}

/** Undefined where no collector is configured: nothing is traced then, unless there is another subscriber. */
export function openTraces({ telemetry: { traces } }: Config, telemetry: Observer): Traces | undefined {
  const { endpoint, headersFile } = traces
  if (endpoint === undefined) return undefined
  const headers = headersFile === undefined ? {} : { headers: headersIn(headersFile) }
  const collector = collectorAt({ clock: systemClock, endpoint, ...headers })
  const exporter = new TraceExporter({
    clock: systemClock,
    version,
    post: collector.post,
    onPosted: (posted) => note(telemetry, posted),
  })
  return {
    get figures() {
      return exporter.figures
    },
    async close() {
      await exporter.close()
      await collector.close()
    },
  }
}

function note({ log }: Observer, posted: Posted): void {
  const isGood = posted.kind === 'taken'
  const is = isGood ? 'the collector takes them' : `the collector does not take them: ${posted.why}`
  log.change('traces', { is, isGood })
}

function headersIn(path: string): () => HeadersRead {
  const file = new WatchedFile(path, systemClock)
  return () => {
    const read = file.read()
    if ('error' in read) return read
    const parsed = parseHeaders(read.bytes.toString('latin1'))
    return 'error' in parsed ? { error: `${path}: ${parsed.error}` } : parsed
  }
}
