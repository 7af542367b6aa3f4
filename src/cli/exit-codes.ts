/** How a command ends, for scripts. The list is closed and documented. */
export const exitCode = {
  ok: 0,
  failed: 1,
  misused: 2,
  unreachable: 3,
  unconfirmed: 4,
  undecided: 5,
  pending: 6,
} as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** Ends a command with this exit code; the message and the remedy are printed for people. */
export class Failure extends Error {
  readonly code: ExitCode
  /** What to change. */
  readonly remedy: string | undefined

  constructor(code: ExitCode, message: string, remedy?: string) {
    super(message)
    this.code = code
    this.remedy = remedy
  }
}

/** For a caller that continues without the result. */
export const orFailure = <T>(work: Promise<T>): Promise<T | Failure> =>
  work.catch((error: unknown) => {
    if (error instanceof Failure) return error
    throw error
  })
