/** Which Druid answers. Only Apache Druid 25 and later is known to be decomposable as planned here. */
import type { Flavour, FlavourProbe } from '../backend.ts'

const path = '/status'

export const flavour: FlavourProbe = { path, read }

const oldest = 25
/** Distributions that count years instead of releases begin far above. */
const tooNew = 1000

/** Brokers and routers alike report their version and the list of their modules. */
function read(status: number, body: string): Flavour {
  const told = status === 200 ? readStatus(body) : undefined
  if (told === undefined) {
    return { isKnown: false, isUnreadable: true, label: `no status of Druid (status ${status})` }
  }
  const version = numbersOf(told.version)
  const [major = 0] = version
  if (major >= oldest && major < tooNew) return { isKnown: true, label: `Druid ${told.version}`, version }
  return { isKnown: false, label: `not a Druid of version ${oldest} or later (version ${told.version})` }
}

const numbersOf = (version: string): number[] =>
  (/^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?![\d.])/.exec(version) ?? []).slice(1).map(Number)

function readStatus(body: string): { readonly version: string } | undefined {
  try {
    const answer = JSON.parse(body) as { version?: unknown; modules?: unknown } | null
    if (typeof answer?.version !== 'string' || !Array.isArray(answer.modules)) return undefined
    return { version: answer.version.slice(0, 60) }
  } catch {
    return undefined
  }
}
