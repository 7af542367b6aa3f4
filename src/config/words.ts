/** Names of keys and values in messages: on one line, shortened where long, without secrets. */
import { withoutSecrets } from '../core/secrets.ts'
import { isName, type List, type Type } from './definition.ts'
import type { Raw } from './source.ts'

export const join = (path: string, name: string): string =>
  path === '' ? name : name === '' ? path : `${path}.${name}`

export const itemExpected = ({ item }: List): string =>
  item.kind === 'scalar' ? `${item.expected}, or a list of them` : 'a list of at least one'

export const expectedOf = (type: Type): string => (type.kind === 'scalar' ? type.expected : 'a map of keys')

/** The name that was probably meant. */
export const tidied = (name: string): string | undefined => {
  const tidy = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  return isName(tidy) ? tidy : undefined
}

/** A key may be anything; a message stays on its line. */
export const shownName = (name: string): string =>
  withoutSecrets(name)
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, 60)

/** The value that was found instead, without secrets. */
export function shownRaw(raw: Raw): string {
  if (raw.kind !== 'scalar') return raw.kind === 'map' ? 'a map' : 'a list'
  if (raw.value === null) return 'nothing'
  if (typeof raw.value !== 'string') return String(raw.value)
  const text = withoutSecrets(raw.value)
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}
