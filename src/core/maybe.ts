/** Values that are there at once, or later: without a promise nothing waits for the next turn of the event loop. */

/** Engines in this process answer at once; others return a promise. */
export type MaybePromise<T> = T | Promise<T>

export const andThen = <T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> => (value instanceof Promise ? value.then(next) : next(value))

/** All of the values: at once where none of them is a promise. */
export const allOf = <T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])

/** `otherwise` stands in where the action throws or rejects. */
export function orElse<T>(action: () => MaybePromise<T>, otherwise: (error: unknown) => T): MaybePromise<T> {
  try {
    const value = action()
    return value instanceof Promise ? value.catch(otherwise) : value
  } catch (error) {
    return otherwise(error)
  }
}
