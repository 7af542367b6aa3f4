/** The section of a store: the keys of its kind, which a URL may set as well. */
import { withoutCredentials } from '../core/url.ts'
import type { StoreKind } from '../stores/kind.ts'
import { type StoreKindName, storeKindNames, storeKinds } from '../stores/kinds.ts'
import { keysOfStoreUrl, storeUrlForms } from '../stores/url.ts'
import { key, optional, type Scalar, type Section, section, type TypeValue, variants } from './definition.ts'
import { duration } from './scalars.ts'

const userInfo = /^[^/?#]*\/\/[^/?#]*@/

/** `schemes`: those of one kind. Whether any kind has the scheme is said once, when the URL is expanded. */
const storeUrl = (schemes: readonly string[]): Scalar<string, ''> => ({
  kind: 'scalar',
  suffix: '',
  label: 'URL of a store',
  expected: `the URL of a store, such as ${storeUrlForms.join(' or ')}`,
  json: { type: 'string', pattern: `^(?:${schemes.join('|')}):` },
  parse: (value) => (typeof value === 'string' ? value : undefined),
  show: (value) => (userInfo.test(value) ? withoutCredentials(value) : value),
  credentials: (value) =>
    userInfo.test(String(value))
      ? 'a URL here must not hold a user or a password: set it in the environment instead'
      : undefined,
})

const meaning = `the type and its keys in one: ${storeUrlForms.map((form) => `\`${form}\``).join(', ')}`

/** Of every store that other nodes write to. */
const remoteKeys = {
  notice: key(duration({ min: 100 }), 10_000, {
    meaning:
      'buckets that another node has fetched anew replace the copy in the memory of this one within twice this time, though that is still fresh',
    apply: 'restart',
  }),
}

interface CommonKeys {
  readonly url: string | undefined
  /** Only of stores behind a network. */
  readonly noticeMs?: number
}

type WithUrl<S> = Section<TypeValue<S> & CommonKeys>
type Cases = { readonly [N in StoreKindName]: WithUrl<(typeof storeKinds)[N]['section']> }

const cases = Object.fromEntries(
  storeKindNames.map((name) => {
    const { schemes, section: own, isRemote }: StoreKind = storeKinds[name]
    const { keys, checks, refused } = own
    const url = optional(storeUrl(schemes), meaning, { apply: 'restart' })
    return [name, section({ url, ...keys, ...(isRemote && remoteKeys) }, { checks, refused })]
  }),
) as unknown as Cases

export const storeSection = variants(cases, 'memory', { key: 'url', expand: keysOfStoreUrl })

export type StoreConfig = TypeValue<typeof storeSection>
