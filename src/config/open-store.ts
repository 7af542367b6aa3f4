/** Opening a store by its URL, for programs that use Windowpane as a library. */
import { systemClock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { defaultLimits } from '../proxy/limits.ts'
import type { OpenedStore, StoreRules } from '../stores/kind.ts'
import { kindOfStore } from '../stores/kinds.ts'
import { storeUrlForms } from '../stores/url.ts'
import { ladder } from '../ttl/ladder.ts'
import { Reader } from './read.ts'
import { type RawMap, rawText, type Source } from './source.ts'
import { type StoreConfig, storeSection } from './store-types.ts'

/** Absent options have the default of the proxy: its limits, and the published ladder for the settled age. */
export type OpenStoreOptions = Partial<StoreRules>

/** Rejects with a WindowpaneError where the URL is wrong or the store cannot be opened. */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<OpenedStore> {
  const config = readStoreUrl(url)
  const kind = kindOfStore(config)
  const { timeoutMs = kind.timeoutMs } = config
  const opened = await kind.open(config, { ...defaultRules, timeoutMs, ...options })
  if (!('refused' in opened)) return opened
  const message = `the store cannot be opened: ${opened.detail}`
  throw new WindowpaneError('WINDOWPANE_STORE_UNAVAILABLE', message, opened)
}

const { memoryBytes, retentionMs, maxBucketsPerShape } = defaultLimits
const { settledAgeMs } = ladder()
const defaultRules: Omit<StoreRules, 'timeoutMs'> = {
  ...{ clock: systemClock, memoryBytes, retentionMs, maxBucketsPerShape, settledAgeMs },
}

const forms = storeUrlForms.join(' or ')
const source: Source = { kind: 'argument', name: 'the URL given' }

/** Throws a WindowpaneError where it is not the URL of a store. */
export function readStoreUrl(url: string): StoreConfig {
  const reader = new Reader(() => [])
  const entry = { keySource: source, value: rawText(url, source) }
  const map: RawMap = { kind: 'map', entries: new Map([['url', entry]]), source }
  const config = reader.read(storeSection, map, '') as StoreConfig
  const [problem] = reader.problems
  if (problem === undefined) return config
  const { path, message, suggestion } = problem
  const remedy = suggestion === undefined ? `Write it as ${forms}.` : `Did you mean "${suggestion}"?`
  throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `the URL of a store: ${path}: ${message}`, { remedy })
}
