/** The result of one check of `windowpane doctor`. */

export const states = ['ok', 'warn', 'fail', 'skip'] as const
export type FindingState = (typeof states)[number]

export interface Finding {
  /** The subject of the check, in a word or two. */
  readonly check: string
  readonly status: FindingState
  readonly sentence: string
  readonly remedy?: string
}

export const found = (check: string) => ({
  ok: (sentence: string): Finding => ({ check, status: 'ok', sentence }),
  skip: (sentence: string, remedy?: string): Finding => ({
    check,
    status: 'skip',
    sentence,
    ...(remedy !== undefined && { remedy }),
  }),
  warn: (sentence: string, remedy: string): Finding => ({ check, status: 'warn', sentence, remedy }),
  fail: (sentence: string, remedy: string): Finding => ({ check, status: 'fail', sentence, remedy }),
})
