/** A request to the database as explanations show it: bounded, and without the values of secret parameters. */
import type { WireRequest } from '../../backends/backend.ts'
import { headerOf } from '../../core/headers.ts'
import { maskForm } from '../../core/secrets.ts'

export interface ShownQuery {
  readonly method: string
  readonly path: string
  readonly search: string
  readonly body: string
}

const maxBodyChars = 65_536
const formType = 'application/x-www-form-urlencoded'

export function shownQuery({ method, path, search, headers, body }: WireRequest): ShownQuery {
  const text = Buffer.from(body).toString('utf8')
  const isForm = headerOf(headers, 'content-type')?.toLowerCase().startsWith(formType) === true
  const shown = isForm ? maskForm(text) : text
  return { method, path, search: maskForm(search), body: shown.slice(0, maxBodyChars) }
}
