/** An error in the form of Prometheus' API. Databases have different names for its type. */
import type { ErrorAnswer } from '../backend.ts'

export const errorAnswerAs =
  (typeOf: (status: number) => string) =>
  (status: number, error: string): ErrorAnswer => ({
    contentType: 'application/json',
    body: JSON.stringify({ status: 'error', errorType: typeOf(status), error }),
  })
