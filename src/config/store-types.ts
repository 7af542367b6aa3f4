/** The section of a store: the keys of its kind, which a URL may set as well. */
import { usualLeaseMs } from '../engine/cell-claims.ts'
import type { StoreKind } from '../stores/kind.ts'
import { type StoreKindName, storeKindNames, storeKinds } from '../stores/kinds.ts'
import { keysOfStoreUrl, storeUrlForms } from '../stores/url.ts'
import {
  type Keys,
  key,
  optional,
  type Scalar,
  type Section,
  section,
  type TypeValue,
  variants,
} from './definition.ts'
import { duration } from './scalars.ts'
import { credentialsIn, shownUrl, textual } from './text-scalars.ts'

/** `schemes`: the schemes of one kind. A scheme that no kind has is reported once, when the URL is expanded. */
const storeUrl = (schemes: readonly string[]): Scalar<string, ''> => ({
  ...textual({
    label: 'URL of a store',
    expected: `the URL of a store, such as ${storeUrlForms.join(' or ')}`,
    pattern: `^(?:${schemes.join('|')}):`,
  }),
  parse: (value) => (typeof value === 'string' ? value : undefined),
  show: shownUrl,
  credentials: credentialsIn('set it in the environment instead'),
})

const meaning = `the type and its keys in one: ${storeUrlForms.map((form) => `\`${form}\``).join(', ')}`

const timeouts = { min: 10, max: 60_000 }
const timeoutMeaning =
  'the longest that a request waits for one operation of the store; a store that is slower for half of its operations, or three times in a row, is not used for a while; writes of buckets, which no request waits for, may take ten times as long'

/** Of every store that other nodes write to. */
const remoteKeys = {
  notice: key(duration({ min: 100 }), 60_000, {
    meaning:
      'buckets that another node has fetched anew replace the copy in the memory of this one within twice this time, even where that is still fresh',
    apply: 'restart',
  }),
  lease: key(duration({ min: 1000 }), usualLeaseMs, {
    meaning:
      'the lease of a node that fetches for others expires after this time without renewal, and another one fetches. Longer than the clocks of the nodes may differ',
    apply: 'restart',
  }),
}

/** Keys of every store besides those of its kind. */
export interface CommonStoreKeys {
  readonly url: string | undefined
  /** Not of stores that are memory themselves. */
  readonly timeoutMs?: number
  /** Only of stores behind a network. */
  readonly noticeMs?: number
  readonly leaseMs?: number
}

type WithCommon<S> = Section<TypeValue<S> & CommonStoreKeys>
type Cases = { readonly [N in StoreKindName]: WithCommon<(typeof storeKinds)[N]['section']> }

const commonKeys = ({ schemes, isFar, isRemote, timeoutMs }: StoreKind): Keys => ({
  url: optional(storeUrl(schemes), meaning, { apply: 'restart' }),
  ...(isFar && {
    timeout: key(duration(timeouts), timeoutMs, { meaning: timeoutMeaning, apply: 'restart' }),
  }),
  ...(isRemote && remoteKeys),
})

const cases = Object.fromEntries(
  storeKindNames.map((name) => {
    const kind: StoreKind = storeKinds[name]
    const { keys, checks, refused } = kind.section
    const { url, ...others } = commonKeys(kind)
    return [name, section({ url: url!, ...keys, ...others }, { checks, refused })]
  }),
) as unknown as Cases

export const storeSection = variants(cases, 'memory', {
  shorthand: { key: 'url', expand: keysOfStoreUrl },
})

export type StoreConfig = TypeValue<typeof storeSection>
