/** What a server behind Prometheus' API says about its build. */

export const buildInfoPath = '/api/v1/status/buildinfo'

export interface BuildInfo {
  readonly version?: unknown
  readonly revision?: unknown
  readonly goVersion?: unknown
  readonly application?: unknown
}

/** Undefined where it says nothing that can be read. */
export function readBuildInfo(status: number, body: string): BuildInfo | undefined {
  if (status !== 200) return undefined
  try {
    const answer = JSON.parse(body) as { data?: unknown }
    return typeof answer.data === 'object' && answer.data !== null ? answer.data : undefined
  } catch {
    return undefined
  }
}
