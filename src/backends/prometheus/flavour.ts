/** Which server answers behind the Prometheus API. Only Prometheus itself is known to be decomposable as planned here. */
import { type BuildInfo, buildInfoProbe, numbersOf } from '../matrix/build-info.ts'

/**
 * Prometheus reports version (2 or 3), revision and Go version, and no application. Other servers with its API omit
 * some of it (VictoriaMetrics), count from 0 (Thanos), name themselves (Mimir, Cortex), or give the version of the
 * Prometheus that they are compatible with and a revision of their own (Google's front-end: `gmp/…`).
 */
export const flavour = buildInfoProbe((info) => {
  const { version, revision: given, application } = info
  if (application !== undefined) return { isKnown: false, label: `${String(application)} ${version}` }
  if (isPrometheus(info)) {
    return { isKnown: true, label: `Prometheus ${version}`, version: numbersOf(version) }
  }
  const revision = typeof given === 'string' ? `revision ${given.slice(0, 60)}` : 'no revision'
  return { isKnown: false, label: `not known to be Prometheus (version ${version}, ${revision})` }
})

/** As released; `3.5.0-rc.1` is a release candidate. */
const released = /^v?[23]\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?$/
/** With suffixes of distributions, such as `+ds1`. */
const packaged = /^v?[23]\.\d+\.\d+(?:[+~-][\w.+~-]+)?$/
/** A commit of its repository. Builds from an archive have `non-git` (promu) or `unknown` (Nix and others). */
const ownRevision = /^(?:[0-9a-f]{1,64}(?:-modified)?|non-git|unknown)$/

/**
 * Version and revision must both match. Distributions repeat the version of the package as the revision: `3.5.3+ds1-6`.
 */
function isPrometheus({ version, revision, goVersion }: BuildInfo): boolean {
  if (typeof revision !== 'string' || typeof goVersion !== 'string') return false
  if (released.test(version) && ownRevision.test(revision)) return true
  return packaged.test(version) && (revision === version || revision.startsWith(`${version}-`))
}
