/** The result of a render, and its consequences for the object. */
import type { Rendered } from './objects.ts'

/** RFC 5861: the errors instead of which a stale response may be served. 429 is not one of them. */
const errorStatuses: ReadonlySet<number> = new Set([500, 502, 503, 504])

export interface RenderedObject extends Rendered {
  readonly status: number
}

export function renderedOf(given: Rendered | Uint8Array | string): RenderedObject {
  if (typeof given === 'string') return { body: Buffer.from(given), status: 200 }
  if (given instanceof Uint8Array) return { body: given, status: 200 }
  return { ...given, status: given.status ?? 200 }
}

export const isError = ({ status }: RenderedObject): boolean => errorStatuses.has(status)

/** Successes, unless the render overrides that. Statuses of 500 and above never are, nor a part of a body (206). */
export const isStored = ({ status, isStorable }: RenderedObject): boolean =>
  status < 500 && status !== 206 && (isStorable ?? (status >= 200 && status < 300))
