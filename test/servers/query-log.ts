/**
 * Prometheus' query log: one JSON object per evaluated query.
 * It writes the step in whole seconds, cut off: it cannot count the steps of queries with finer steps.
 */

export interface LoggedQuery {
  readonly query: string
  readonly startMs: number
  readonly endMs: number
  /** 0 for an instant query. */
  readonly stepMs: number
  /** Samples loaded: this query's share of prometheus_engine_query_samples_total. */
  readonly samples: number
}

interface LogLine {
  readonly params: { query: string; start: string; end: string; step: number }
  readonly stats: { samples: { totalQueryableSamples: number } }
}

export function parseQueryLog(text: string): LoggedQuery[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => fromLine(JSON.parse(line) as LogLine))
}

function fromLine({ params, stats }: LogLine): LoggedQuery {
  return {
    query: params.query,
    startMs: Date.parse(params.start),
    endMs: Date.parse(params.end),
    stepMs: params.step * 1000,
    samples: stats.samples.totalQueryableSamples,
  }
}

/** Returns how many steps a range query evaluated; 0 for an instant query. */
export function stepsOf(query: LoggedQuery): number {
  return query.stepMs === 0 ? 0 : Math.floor((query.endMs - query.startMs) / query.stepMs) + 1
}
