/** How long the place of a worker that has ended stays empty: longer each time it ends soon after its start. */
const firstMs = 500
const maxMs = 30_000
/** A worker that ran for this long did not fail at its start. */
const steadyMs = 60_000

export class RestartBackoff {
  readonly #lastMs = new Map<number, number>()

  /** The delay before a worker is started again at `place`, where one ended after `ranMs`. */
  next(place: number, ranMs: number): number {
    const last = ranMs > steadyMs ? 0 : (this.#lastMs.get(place) ?? 0)
    const delayMs = last === 0 ? firstMs : Math.min(maxMs, 2 * last)
    this.#lastMs.set(place, delayMs)
    return delayMs
  }
}
