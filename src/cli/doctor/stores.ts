/** Checks that memory suffices, and runs the checks of each kind of store in use. */
import { totalmem } from 'node:os'
import type { Config } from '../../config/schema.ts'
import { formatSize } from '../../config/units.ts'
import type { Clock } from '../../core/clock.ts'
import { type Finding, found } from '../../core/finding.ts'
import { kindOfStore } from '../../stores/kinds.ts'
import { bytesText } from '../text.ts'

export async function checkStores(config: Config, clock: Clock): Promise<Finding[]> {
  const used = new Set(Object.values(config.backends).map(({ store }) => store))
  const findings = [memoryFinding(config.limits.memoryBytes, availableMemory())]
  for (const [name, store] of Object.entries(config.stores)) {
    // The finding about memory is about buckets, so it is left out where memory only counts quotas.
    const isOfQuotas = name === config.quotas.store && store.type !== 'memory'
    if (!used.has(name) && !isOfQuotas) continue
    const told = await kindOfStore(store).examine(store, clock)
    findings.push(...told.map((finding) => ({ check: `store ${name}`, ...finding })))
  }
  return findings
}

/** The memory limit of this process: that of its container, or that of the machine. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Besides the memory under the limit, Node and the garbage between two collections need some. */
const largestShare = 0.7

export function memoryFinding(limit: number, available: number): Finding {
  const about = found('memory')
  const text = `limits.memory is ${formatSize(limit)} of the ${bytesText(available)} that this process may use`
  if (limit <= largestShare * available) return about.ok(`${text}.`)
  return about.warn(`${text}: too much.`, `Set limits.memory to ${bytesText(0.5 * available)} or less.`)
}
