/**
 * Masks secrets before they are shown or stored: passwords in URLs, credentials of HTTP authentication, and parameters
 * such as `access_token`. Wide on purpose: hiding too much costs a reader a word, hiding too little costs a password.
 */
import { hash } from 'node:crypto'
import { namedLike } from './name-pattern.ts'
import { percentDecoded } from './url.ts'

/** A value that does not print itself. */
export interface Hidden {
  reveal(): string
}

export const stars = '***'

/** Parameters whose values are secrets, by their letters and digits in lower case. In docs/reference/headers.md, too. */
export const secretNames: readonly string[] = [
  '*token*',
  '*secret*',
  '*passw*',
  '*passphrase*',
  '*pwd*',
  '*auth*',
  '*jwt*',
  '*signature*',
  '*credential*',
  '*session*',
  '*bearer*',
  '*sig',
  '*key',
  'pass',
  'sid',
  'xamz*',
  'xgoog*',
]

const isListed = namedLike(secretNames)

/** Whether the value of a parameter of this name, in any spelling, is a secret. The name of a file is none. */
export function isSecretName(name: string): boolean {
  const word = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return isListed(word) && !word.endsWith('file')
}

/** Stands for a secret where unequal ones must stay unequal, as in a shape. */
export const fingerprintOf = (secret: string): string =>
  `${stars}${hash('sha256', secret, 'base64url').slice(0, 22)}`

/** A query string or urlencoded form in which `mask` has replaced the values of secret parameters. */
export function maskForm(form: string, mask: (value: string) => string = () => stars): string {
  if (form === '') return ''
  return form
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=')
      if (equals < 0 || !isSecretName(decodedName(pair.slice(0, equals)))) return pair
      return `${pair.slice(0, equals + 1)}${mask(pair.slice(equals + 1))}`
    })
    .join('&')
}

const decodedName = (name: string): string => percentDecoded(name) ?? name

/** A text of any kind, on one line or several, with stars in the place of every secret that it may hold. */
export const withoutSecrets = (text: string): string =>
  text
    // From the slashes of a URL (`\/\/` in JSON) to the last @ on its line: a password may hold any character.
    .replaceAll(/(?:\\?\/){2}.*@/g, `//${stars}@`)
    // No visible @, and the text after the host is not a port: it may be half a password.
    .replaceAll(/(?:\\?\/){2}(?!\[)[^/?#\s"'@:]*:(?!\d{1,5}(?:[^\w%]|$)).*/g, `//${stars}`)
    // A URL whose scheme was forgotten.
    .replaceAll(/(^|[\s"'=,;([{])[^\s"'@/:=]+:(?!\/\/)[^\s"'@]+@/gm, `$1${stars}@`)
    .replaceAll(/\b(bearer|basic)\s+[\w+/=.~-]{6,}/gi, `$1 ${stars}`)
    .replaceAll(/([\w.%[\]-]+)=([^&\s"'\\~=][^&\s"']*)/g, (pair, name: string) =>
      isSecretName(decodedName(name)) ? `${name}=${stars}` : pair,
    )
