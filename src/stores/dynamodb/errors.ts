/** Classifies errors of the SDK for a store. The names are those of the API's documentation. */

export type ErrorMeaning =
  /** A condition did not hold: an answer like any other. */
  | 'condition'
  /** Another transaction is changing the same item; nothing was done. */
  | 'conflict'
  /** The request exceeded the capacity of the table or of a partition; nothing was done. */
  | 'throttled'
  | 'not_set_up'
  | 'denied'
  /** No answer, or one that blames the server: it may have been done or not. */
  | 'unreachable'
  /** The request is wrong: a defect of this program. */
  | 'refused'

const meanings: Readonly<Record<string, ErrorMeaning>> = {
  ConditionalCheckFailedException: 'condition',
  TransactionConflictException: 'conflict',
  TransactionInProgressException: 'conflict',
  ProvisionedThroughputExceededException: 'throttled',
  ThrottlingException: 'throttled',
  RequestLimitExceeded: 'throttled',
  ResourceNotFoundException: 'not_set_up',
  AccessDeniedException: 'denied',
  UnrecognizedClientException: 'denied',
  InvalidSignatureException: 'denied',
  IncompleteSignatureException: 'denied',
  MissingAuthenticationTokenException: 'denied',
  ExpiredTokenException: 'denied',
  CredentialsProviderError: 'denied',
  ValidationException: 'refused',
  SerializationException: 'refused',
}

/** By the codes that a cancelled transaction gives for each of its items. */
const reasonMeanings: Readonly<Record<string, ErrorMeaning>> = {
  ConditionalCheckFailed: 'condition',
  TransactionConflict: 'conflict',
  ThrottlingError: 'throttled',
  ProvisionedThroughputExceeded: 'throttled',
}

interface SdkError {
  readonly name?: string
  readonly message?: string
  readonly CancellationReasons?: readonly { readonly Code?: string }[]
}

export function meaningOf(error: unknown): ErrorMeaning {
  const { name = '', CancellationReasons } = error as SdkError
  if (name === 'TransactionCanceledException') return meaningOfReasons(CancellationReasons ?? [])
  return meanings[name] ?? 'unreachable'
}

/** A condition that failed decides, whatever happened to the other items: sending it again cannot help. */
function meaningOfReasons(reasons: readonly { readonly Code?: string }[]): ErrorMeaning {
  const found = reasons.map(({ Code = '' }) => reasonMeanings[Code])
  const first = (['condition', 'conflict', 'throttled'] as const).find((meaning) => found.includes(meaning))
  return first ?? 'refused'
}

/** An error for responses that report throttling without being an error of the API. */
export const throttledError = (message: string): Error =>
  Object.assign(new Error(message), { name: 'ThrottlingException' })

export const isCondition = (error: unknown): boolean => meaningOf(error) === 'condition'

/** The name, and the message where it adds something. */
export function textOf(error: unknown): string {
  const { name = 'Error', message = '' } = error as SdkError
  if (message === '' || message === 'UnknownError') return name
  return name === 'Error' ? message : `${name}: ${message}`
}
