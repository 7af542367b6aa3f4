/** The configuration of a thread that serves requests. The main thread has read the same and found no fault with it. */
import { type LoadOptions, loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { databasesOf, settingsOf } from '../config/settings.ts'
import type { DatabaseOptions } from '../proxy/assembly/options.ts'
import type { Settings } from '../proxy/request/settings.ts'
import type { WorkerInit } from './messages.ts'

export class ThreadConfig {
  #current: Config
  #settings: ReadonlyMap<string, Settings>

  constructor(given: LoadOptions) {
    this.#current = configFrom(given)
    this.#settings = settingsOf(this.#current)
  }

  get current(): Config {
    return this.#current
  }

  /** Databases read their settings with every request. */
  adopt(config: Config): void {
    this.#current = config
    this.#settings = settingsOf(config)
  }

  /** All databases of a configuration, or those with these names. */
  async databasesOf(
    config: Config,
    { kinds, addresses }: Pick<WorkerInit, 'kinds' | 'addresses'>,
    names = Object.keys(config.backends),
  ): Promise<DatabaseOptions[]> {
    const kindOf = (name: string) => kinds.get(name)!.kind
    const databases = await databasesOf(config, { kindOf, settings: () => this.#settings, names })
    return databases.map((database) => {
      const listen = database.listen && (addresses.get(database.listen) ?? database.listen)
      return { ...database, ...(listen !== undefined && { listen }) }
    })
  }
}

export function configFrom(given: LoadOptions): Config {
  const loaded = loadConfig(given)
  if ('problems' in loaded)
    throw new Error('a thread reads the configuration differently from the main thread')
  return loaded.config
}
