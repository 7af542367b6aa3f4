/** Errors are for surprises: they have a stable code, a cause and a remedy. Expected outcomes are values. */

/** Documented in docs/reference/outcomes.md. */
export const errorCodes = {
  WINDOWPANE_BAD_OPTION: 'An option has a value that cannot be used.',
  WINDOWPANE_LISTEN_FAILED: 'The listening address could not be opened.',
  WINDOWPANE_OBJECT_BUSY:
    'Another node is regenerating an object, has not finished in time, and nothing may be served meanwhile.',
  WINDOWPANE_STORE_UNAVAILABLE: 'A store could not be opened.',
} as const

export type ErrorCode = keyof typeof errorCodes

export class WindowpaneError extends Error {
  readonly code: ErrorCode
  readonly remedy: string

  constructor(code: ErrorCode, message: string, options: { remedy: string; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.name = 'WindowpaneError'
    this.code = code
    this.remedy = options.remedy
  }
}

export function requireOption(isUsable: boolean, message: string, remedy: string): void {
  if (!isUsable) throw new WindowpaneError('WINDOWPANE_BAD_OPTION', message, { remedy })
}
