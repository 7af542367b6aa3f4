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

export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  0: 'success; `shadow report`: safe; the proxy: every request in progress was answered',
  1: 'it failed, or something is wrong: `shadow report`: unsafe; `doctor`: a check failed; `check`: a file that is named cannot be used; `check --connect`: a database does not answer, or is none; the proxy: a second signal, which does not wait',
  2: 'the command line, the configuration or the address cannot be used',
  3: 'the admin listener cannot be reached, or requires its token',
  4: 'nothing was done without a confirmation: `purge` without `--yes`, `init` of a file that exists without `--force`',
  5: 'not enough is known yet: `shadow report`: wait',
  6: 'something would change: `limits plan`, `limits diff`',
}

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
