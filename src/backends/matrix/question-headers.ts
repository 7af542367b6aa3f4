/**
 * Request headers that select the data, or the way of its computation, in databases that serve several tenants or have
 * several query engines. They are part of the shape, for every client: requests that share an identity do not share
 * answers over them.
 */

import { fingerprintOf, isSecretName } from '../../core/secrets.ts'
import type { HeaderList } from '../backend.ts'

/** The name is in lower case. */
export type IsQuestionHeader = (name: string, value: string) => boolean

/** By name, then in the order sent. Shapes are shown and stored: of a credential only a fingerprint is part of them. */
export function questionHeaders(headers: HeaderList, isQuestionHeader: IsQuestionHeader): [string, string][] {
  const found: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    if (!isQuestionHeader(name, headers[i + 1]!)) continue
    const value = isSecretName(name) ? fingerprintOf(headers[i + 1]!) : headers[i + 1]!
    const before = found.find(([known]) => known === name)
    if (before === undefined) found.push([name, value])
    else before[1] = `${before[1]}, ${value}`
  }
  return found.sort(([a], [b]) => (a < b ? -1 : 1))
}
