/** The clocks of an object, computed by its reader from the time of generation and from the terms. Milliseconds. */
import type { EpochMs } from '../../core/clock.ts'
import { WindowpaneError } from '../../core/errors.ts'
import type { CellClocks, EpochSeconds } from '../../stores/cells.ts'
import type { ObjectTerms } from './objects.ts'

/** Terms with every value set, in milliseconds. */
export interface TermsMs {
  readonly revalidate: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
  readonly retention: number
}

export type ObjectClocks = Required<Pick<CellClocks, 'freshUntil' | 'staleUntil' | 'errorUntil'>>

/**
 * `fresh`: served. `stale`: served at once, and regenerated in the background. `error`: served only where regenerating
 * fails. `unusable`: never served.
 */
export type Position = 'fresh' | 'stale' | 'error' | 'unusable'

const defaultRetentionSeconds = 7 * 86_400
/** Invalidations are kept this long, so that no object may be older. */
export const maxRetentionMs = 30 * 86_400_000

/** Throws a WindowpaneError where a value is not a number of seconds. */
export function termsMs(terms: ObjectTerms): TermsMs {
  const revalidate = millisecondsOf(terms.revalidateSeconds)
  const staleWhileRevalidate = millisecondsOf(terms.staleWhileRevalidateSeconds ?? 0)
  const staleIfError = millisecondsOf(terms.staleIfErrorSeconds ?? 0)
  const asked = millisecondsOf(terms.retentionSeconds ?? defaultRetentionSeconds)
  const usable = revalidate + Math.max(staleWhileRevalidate, staleIfError)
  const retention = Math.min(Math.max(asked, usable), maxRetentionMs)
  return { revalidate, staleWhileRevalidate, staleIfError, retention }
}

function millisecondsOf(seconds: number): number {
  if (seconds >= 0) return Math.min(Math.round(seconds * 1000), maxRetentionMs)
  throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `the terms of an object: ${seconds} is no time span`, {
    remedy: 'Give times in seconds, not below 0.',
  })
}

/**
 * Both stale bounds count from the moment at which the object stops being fresh, and none reaches beyond retention.
 * `vouchedUntil`: a witness has verified that it is fresh until then, whatever the terms are.
 */
export function clocksOf(
  base: EpochMs,
  terms: TermsMs,
  vouchedUntil = Number.NEGATIVE_INFINITY,
): ObjectClocks {
  const end = base + terms.retention
  const freshUntil = Math.min(Math.max(base + terms.revalidate, vouchedUntil), end)
  const staleUntil = Math.min(freshUntil + terms.staleWhileRevalidate, end)
  return {
    freshUntil,
    staleUntil,
    errorUntil: Math.min(Math.max(staleUntil, freshUntil + terms.staleIfError), end),
  }
}

/** Strict: at the instant of a clock it has passed. */
export function positionOf({ freshUntil, staleUntil, errorUntil }: ObjectClocks, now: EpochMs): Position {
  if (now < freshUntil) return 'fresh'
  if (now < staleUntil) return 'stale'
  return now < errorUntil ? 'error' : 'unusable'
}

/** When rows of an object may be collected. Rounded up: a row must not go before its clocks have passed. */
export const collectAtOf = (base: EpochMs, retentionMs: number, bufferSeconds: number): EpochSeconds =>
  Math.max(1, Math.ceil((base + retentionMs) / 1000 + bufferSeconds))

/** False where there is nothing to keep: concurrent equal requests share one answer, and that is all. */
export const isKeptFor = ({ revalidate, staleWhileRevalidate, staleIfError }: TermsMs): boolean =>
  revalidate + staleWhileRevalidate + staleIfError > 0

export const nothingKept: TermsMs = { revalidate: 0, staleWhileRevalidate: 0, staleIfError: 0, retention: 0 }
