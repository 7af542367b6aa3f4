/** Tools for tests of the object cache: a render that counts, and waiting for work that the fake clock has to move. */
import type { ObjectAnswer, ObjectTerms, Rendered } from '../engine/objects/objects.ts'
import type { FakeClock } from './fake-clock.ts'

export interface CountedRender {
  (): Promise<Rendered | Uint8Array | string>
  calls: number
  /** Called with the number of the call, from 1 on. */
  gives: (call: number) => Rendered | Uint8Array | string | Promise<Rendered | Uint8Array | string>
}

/** Renders `v1`, `v2` … by default. */
export function countedRender(gives: CountedRender['gives'] = (call) => `v${call}`): CountedRender {
  const render = (async () => render.gives(++render.calls)) as CountedRender
  render.calls = 0
  render.gives = gives
  return render
}

export const renderOf = (text: string) => async (): Promise<string> => text

/** State and body in one text: 'hit v1'. */
export const shown = ({ state, body }: ObjectAnswer): string => `${state} ${Buffer.from(body).toString()}`

const maxTurns = 100_000

/**
 * Resolves as the promise does, moving the clock while it is pending. A turn of the event loop is a millisecond by
 * default.
 */
export async function eventually<T>(clock: FakeClock, pending: T | Promise<T>, stepMs = 1): Promise<T> {
  let isPending = true
  const ended = Promise.resolve(pending).finally(() => {
    isPending = false
  })
  ended.catch(() => {})
  await until(clock, () => !isPending, stepMs)
  return ended
}

/** The answer as `shown`, once it is there. */
export const shownBy = async (
  clock: FakeClock,
  pending: ObjectAnswer | Promise<ObjectAnswer>,
  stepMs?: number,
): Promise<string> => shown(await eventually(clock, pending, stepMs))

export async function until(clock: FakeClock, hasHappened: () => boolean, stepMs = 1): Promise<void> {
  await clock.advance(0)
  for (let turn = 0; !hasHappened(); turn++) {
    if (turn === maxTurns) throw new Error('it never happens')
    await clock.advance(stepMs)
  }
}

export const minute: ObjectTerms = {
  revalidateSeconds: 60,
  staleWhileRevalidateSeconds: 30,
  staleIfErrorSeconds: 300,
}
