/** Values that are there at once, or later: without a promise nothing waits for the next turn of the event loop. */
import type { MaybePromise } from '../stores/store.ts'

export const andThen = <T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> => (value instanceof Promise ? value.then(next) : next(value))

/** `otherwise` stands in where the action throws or rejects. */
export function orElse<T>(action: () => MaybePromise<T>, otherwise: () => T): MaybePromise<T> {
  try {
    const value = action()
    return value instanceof Promise ? value.catch(otherwise) : value
  } catch {
    return otherwise()
  }
}
