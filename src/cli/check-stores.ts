/** Stores of a configuration that would be refused at the start, as problems of the keys that name their places. */
import type { ConfigProblem, LoadedConfig } from '../config/load.ts'
import { byDefault } from '../config/source.ts'
import { kindOfStore } from '../stores/kinds.ts'
import { storesInUse } from './stores.ts'

export async function refusedStores({ config, sources }: LoadedConfig): Promise<ConfigProblem[]> {
  const used = storesInUse(config)
  const problems: ConfigProblem[] = []
  for (const [name, store] of Object.entries(config.stores)) {
    const kind = kindOfStore(store)
    const refused = used.has(name) ? await kind.distrust?.(store) : undefined
    if (refused === undefined) continue
    const path = `stores.${name}.${kind.placeOf?.(store).key ?? 'type'}`
    const source = sources.get(path) ?? byDefault
    problems.push({ path, source, message: `${refused.detail} (${refused.refused}); ${refused.remedy}` })
  }
  return problems
}
