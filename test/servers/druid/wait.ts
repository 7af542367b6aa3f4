/** Waiting for what a server does in its own time, with an end to it. */
import { scheduler } from 'node:timers/promises'
import { systemClock } from '../../../src/core/clock.ts'

const POLL_MS = 50
const DEADLINE_MS = 120_000

/** Returns once `check` is true. @throws after two minutes, with what was waited for. */
export async function untilTrue(check: () => Promise<boolean>, what: string): Promise<void> {
  const started = systemClock.elapsed()
  while (!(await check())) {
    if (systemClock.elapsed() - started > DEADLINE_MS) throw new Error(`waited in vain: ${what}`)
    await scheduler.wait(POLL_MS)
  }
}
