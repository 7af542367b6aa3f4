/** The TTLs of the databases of a running server, as the admin listener shows them. */
import type { TtlDatabase } from '../proxy/admin/ttl.ts'
import type { DatabaseState, ProxyServer } from '../proxy/assembly/server.ts'

export const ttlDatabasesOf = ({ databases }: ProxyServer): ReadonlyMap<string, TtlDatabase> =>
  new Map(databases.map((database) => [database.name, ttlDatabaseOf(database)]))

function ttlDatabaseOf({ backendRuntime, shapesNamed, sample }: DatabaseState): TtlDatabase {
  const { terms, rules } = backendRuntime.modes.settings
  const ruled = rules.flatMap(({ name, terms: { policy } }) =>
    policy === undefined ? [] : [{ rule: name, policy }],
  )
  return {
    policies: [{ policy: terms.policy }, ...ruled],
    learning: backendRuntime.learning.learner,
    shapesNamed,
    sample,
  }
}
