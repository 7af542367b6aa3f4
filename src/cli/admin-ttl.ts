/** The TTLs of the databases of a running server, as the admin listener shows them. */
import type { TtlDatabase } from '../proxy/admin/ttl.ts'
import type { DatabaseState } from '../proxy/assembly/database-state.ts'
import type { ProxyServer } from '../proxy/assembly/server.ts'
import { policiesOf } from '../proxy/request/settings.ts'

export const ttlDatabasesOf = ({ databases }: ProxyServer): ReadonlyMap<string, TtlDatabase> =>
  new Map(databases.map((database) => [database.name, ttlDatabaseOf(database)]))

function ttlDatabaseOf({ backendRuntime, shapesNamed, sample }: DatabaseState): TtlDatabase {
  return {
    policies: policiesOf(backendRuntime.modes.settings),
    learning: backendRuntime.learning.learner,
    shapesNamed,
    sample,
  }
}
