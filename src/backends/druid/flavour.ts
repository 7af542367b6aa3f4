/** Which Druid answers. Only Apache Druid 25 and later is known to be decomposable as planned here. */
import { fieldsIn } from '../../core/json-object.ts'
import type { Flavour, FlavourProbe } from '../backend.ts'

export const flavour: FlavourProbe = { path: '/status', read }

const oldest = 25
/** Distributions that count years instead of releases begin far above. */
const tooNew = 1000

/** Brokers and routers alike report their version and the list of their modules. */
function read(status: number, body: string): Flavour {
  const told = status === 200 ? versionIn(body) : undefined
  if (told === undefined) {
    return { isKnown: false, isUnreadable: true, label: `no status of Druid (status ${status})` }
  }
  const version = numbersOf(told)
  const [major = 0] = version
  if (major >= oldest && major < tooNew) return { isKnown: true, label: `Druid ${told}`, version }
  return { isKnown: false, label: `not a Druid of version ${oldest} or later (version ${told})` }
}

const numbersOf = (version: string): number[] =>
  (/^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?![\d.])/.exec(version) ?? []).slice(1).map(Number)

/** Undefined where the body is not the status of a Druid. */
export function versionIn(body: string): string | undefined {
  const { version, modules } = fieldsIn(body)
  return typeof version === 'string' && Array.isArray(modules) ? version.slice(0, 60) : undefined
}
