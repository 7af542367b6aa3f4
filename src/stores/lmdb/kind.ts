/** An LMDB file on a local disk as a kind of store. */
import { key, required, section, type TypeValue } from '../../config/definition.ts'
import { size } from '../../config/scalars.ts'
import { path } from '../../config/text-scalars.ts'
import { percentDecoded } from '../../core/url.ts'
import type { RefusedUrl, StoreKind, StoreUrl, UrlKeys } from '../kind.ts'

const GiB = 2 ** 30
const MiB = 2 ** 20

const lmdbSection = section({
  path: required(path, 'the folder of the database; on a local disk', { apply: 'restart' }),
  size: key(size({ min: 16 * MiB }), 10 * GiB, {
    meaning: 'the largest size on disk; beyond this, the least recently used keys are evicted',
    apply: 'restart',
  }),
  reserve: key(size({ min: 0 }), 256 * MiB, {
    meaning: 'disk space that is kept free for other programs: below this, nothing more is written',
    apply: 'restart',
  }),
})

export type LmdbConfig = TypeValue<typeof lmdbSection>

export const lmdbKind: StoreKind<LmdbConfig> = {
  schemes: ['lmdb'],
  urlForm: 'lmdb:PATH?size=10GiB&reserve=256MiB',
  section: lmdbSection,
  readUrl: folderOf,
  isFar: true,
  capabilities: { cells: true, ttl: 'none', pubsub: false },
  timeoutMs: 250,
  placeOf: (config) => ({ key: 'path', place: config.path }),
  distrust: async (config) => (await import('./place.ts')).distrust(config.path),
  examine: async (config, clock) => (await import('./examine.ts')).examineLmdb(config, clock),
  inspect: async (config, clock) => (await import('./examine.ts')).inspectLmdb(config, clock),
  async open(config, rules) {
    const { openLmdbStore } = await import('./index.ts')
    const { clock, retentionMs, maxBucketsPerShape } = rules
    const store = await openLmdbStore({
      directory: config.path,
      maxBytes: config.sizeBytes,
      reserveBytes: config.reserveBytes,
      ...{ clock, retentionMs, maxBucketsPerShape },
      get settledAgeMs() {
        return rules.settledAgeMs
      },
    })
    if ('refused' in store) return store
    const { setAside } = store.health
    const notice = `its file could not be trusted (${setAside}) and was set aside; a new one was begun, and nothing has to be done`
    return {
      panes: store,
      cells: store.cells,
      ...(setAside !== undefined && { notice }),
      close: async () => store.close(),
    }
  },
}

/** `lmdb:/var/lib/x`, `lmdb:x` and `lmdb:///var/lib/x`, percent-encoded where a path has `?` or `%`. */
function folderOf({ place }: StoreUrl): UrlKeys | RefusedUrl {
  const [, host = '', folder = ''] = /^(?:\/\/([^/]*))?(.*)$/s.exec(place)!
  if (host !== '') {
    const refused = 'names a host, and the folder must be on this machine: expected lmdb:PATH'
    return /^\w+$/.test(host) ? { refused, suggestion: `lmdb:/${host}${folder}` } : { refused }
  }
  if (folder === '') return { refused: 'names no folder: expected lmdb:PATH' }
  const decoded = percentDecoded(folder)
  return decoded === undefined
    ? { refused: 'is not percent-encoded text: write % as %25' }
    : { path: decoded }
}
