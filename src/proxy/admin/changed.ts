/** `/-/changed`: a job that has rewritten data reports it, and stored buckets of that data are no longer fresh. */
import type { EpochMs } from '../../core/clock.ts'
import type { Purge, Selection } from '../../engine/purge/purge.ts'
import { type AdminAnswer, json, mistake } from './answer.ts'
import { reachOf } from './fleet.ts'
import type { PurgeAccess } from './purge.ts'
import { onlyHere, readObject, readSelection, unknownBackend, viewOfSelection } from './selection.ts'

const known = ['backend', 'source', 'from', 'to'] as const

export async function markChanged(
  marker: Pick<Purge, 'backends' | 'markChanged' | 'isShared'>,
  access: Omit<PurgeAccess, 'purge'>,
  body: Buffer,
): Promise<AdminAnswer> {
  const selection = readChanged(body, marker.backends, access.clock.now())
  if ('mistake' in selection) return mistake(selection.mistake)
  const { marks, isKept } = await marker.markChanged(selection)
  access.telemetry.log.line('info', 'marked as changed', { ...viewOfSelection(selection) })
  const reach = await reachOf(access, isKept && marker.isShared(selection))
  return json({ marks, ...(!isKept && { durable: false, note: onlyHere }), ...reach })
}

function readChanged(
  body: Buffer,
  backends: readonly string[],
  now: EpochMs,
): Selection | { readonly mistake: string } {
  const given = readObject(body, known)
  if ('mistake' in given) return given
  const selection = readSelection(given.fields, now)
  if ('mistake' in selection) return selection
  const { backend = backends.length === 1 ? backends[0] : undefined, ...data } = selection
  if (backend === undefined) return { mistake: `name the backend, one of: ${backends.join(', ')}` }
  if (!backends.includes(backend)) return { mistake: unknownBackend(backend, backends) }
  if (Object.keys(data).length === 0) return { mistake: 'name the changed data: "source", "from", "to"' }
  return { backend, ...data }
}
