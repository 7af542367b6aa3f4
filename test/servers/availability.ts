/**
 * A server that is unavailable on this machine is an expected outcome, not an error: its suite skips with the reason.
 * Under CI=true skips would go unnoticed, so there it is a failure.
 */

export interface Unavailable {
  /** For people: why, and where possible what to do about it. */
  readonly unavailable: string
}

export function isUnavailable(outcome: unknown): outcome is Unavailable {
  return typeof outcome === 'object' && outcome !== null && 'unavailable' in outcome
}

/**
 * Returns the value for `test(name, { skip })`: false, or the reason to skip.
 * @throws under CI=true, where a missing server is a failure.
 */
export function skipReason(outcome: unknown): string | false {
  if (!isUnavailable(outcome)) return false
  if (process.env['CI'] === 'true') throw new Error(`CI=true and a server is missing: ${outcome.unavailable}`)
  return outcome.unavailable
}
