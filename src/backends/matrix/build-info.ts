/** The build information of a server behind Prometheus' API. */
import type { Flavour } from '../backend.ts'

export const buildInfoPath = '/api/v1/status/buildinfo'

export interface BuildInfo {
  readonly version?: unknown
  readonly revision?: unknown
  readonly goVersion?: unknown
  readonly application?: unknown
}

/** For a response without build info, such as an error or a login page. */
export const noBuildInfo = (status: number): Flavour => ({
  isKnown: false,
  isUnreadable: true,
  label: `no build info (status ${status})`,
})

/** Undefined where it cannot be read. */
export function readBuildInfo(status: number, body: string): BuildInfo | undefined {
  if (status !== 200) return undefined
  try {
    const { data } = JSON.parse(body) as { data?: BuildInfo | null }
    return typeof data?.version === 'string' ? data : undefined
  } catch {
    return undefined
  }
}
