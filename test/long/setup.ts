/** The server of the long run. */
import type { TestContext } from 'node:test'
import type { Version } from '../fidelity/form.ts'
import { isAtLeast } from '../fidelity/queries.ts'
import { startDatabase } from '../fidelity/setup.ts'
import type { Prometheus } from '../servers/prometheus.ts'
import { newerFeatures } from './newer-forms.ts'

const needed: Version = [3, 14]

/** A Prometheus that reads the newer forms, or null after a skip. */
export async function startNewer(t: TestContext, features = newerFeatures): Promise<Prometheus | null> {
  const prometheus = await startDatabase(t, { extraFlags: [`--enable-feature=${features}`] })
  if (prometheus === null || isAtLeast(prometheus.version, needed)) return prometheus
  t.skip(
    `Prometheus ${prometheus.version} is older than ${needed.join('.')}: npm run test:long brings its own`,
  )
  return null
}
