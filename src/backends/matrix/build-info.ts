/** The build information of a server behind Prometheus' API. */
import { fieldsIn, hasFields } from '../../core/json-object.ts'
import type { Flavour, FlavourProbe } from '../backend.ts'

export interface BuildInfo {
  readonly version: string
  readonly revision?: unknown
  readonly goVersion?: unknown
  readonly application?: unknown
}

/** Detects a server by its build info. A response without it is an error, or a login page. */
export const buildInfoProbe = (read: (info: BuildInfo) => Flavour): FlavourProbe => ({
  path: '/api/v1/status/buildinfo',
  read(status, body) {
    const { data } = status === 200 ? fieldsIn(body) : {}
    if (isBuildInfo(data)) return read(data)
    return { isKnown: false, isUnreadable: true, label: `no build info (status ${status})` }
  },
})

/** Major and minor. */
export const numbersOf = (version: string): number[] =>
  (version.match(/^v?(\d+)\.(\d+)/) ?? []).slice(1).map(Number)

/** Not where the version is unknown. */
export function isSince(flavour: Flavour | undefined, wantedMajor: number, wantedMinor: number): boolean {
  const [major = 0, minor = 0] = flavour?.version ?? []
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}

const isBuildInfo = (data: unknown): data is BuildInfo =>
  hasFields(data) && typeof data['version'] === 'string'
