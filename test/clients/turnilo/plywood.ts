/** The part of plywood that Turnilo's queries are made with; the package itself is loaded from the cache folder. */

export interface Expression {
  apply(name: string, expression: Expression): Expression
  filter(condition: Expression): Expression
  split(
    splits: Expression | string | Readonly<Record<string, Expression | string>>,
    name?: string,
  ): Expression
  sum(attribute: string): Expression
  max(attribute: string): Expression
  countDistinct(attribute: string): Expression
  divide(other: Expression): Expression
  subtract(other: Expression): Expression
  and(other: Expression): Expression
  or(other: Expression): Expression
  in(values: readonly string[]): Expression
  contains(value: Expression, compare: 'ignoreCase' | 'normal'): Expression
  overlap(range: { readonly start: Date; readonly end: Date }): Expression
  then(value: Expression): Expression
  fallback(value: Expression): Expression
  timeShift(duration: string, step: number): Expression
  timeBucket(duration: string, zone: string): Expression
  numberBucket(size: number): Expression
  sort(expression: string, direction: 'ascending' | 'descending'): Expression
  limit(count: number): Expression
  compute(datasets: object, options: { readonly timezone: string }): Promise<unknown>
}

export interface Plywood {
  /** A reference. */
  readonly $: (name: string) => Expression
  /** A literal. */
  readonly r: (value: string) => Expression
  readonly ply: () => Expression
  readonly External: { fromJS(description: object, requester: unknown): object }
}

export interface DruidRequester {
  druidRequesterFactory(options: { readonly host: string; readonly timeout: number }): unknown
}
