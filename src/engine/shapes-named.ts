/** Finds shapes by the names that people use. */
import type { ShapeRecord, Store } from '../stores/store.ts'
import type { LearnedShape } from '../ttl/learned/learning.ts'

/** By each name the first shape of the backend that has it as its key, its text or the text of its query. */
export async function shapesNamed(
  store: Pick<Store, 'shapes'>,
  backend: string,
  names: ReadonlySet<string>,
): Promise<ReadonlyMap<string, LearnedShape>> {
  const found = new Map<string, LearnedShape>()
  for await (const [key, record] of store.shapes()) {
    if (found.size === names.size) break
    if (record.backend !== backend) continue
    for (const name of namesOf(key, record)) {
      if (names.has(name) && !found.has(name)) found.set(name, { key, sources: record.sources })
    }
  }
  return found
}

const namesOf = (key: string, { text, query }: ShapeRecord): readonly string[] => [key, text, query]
