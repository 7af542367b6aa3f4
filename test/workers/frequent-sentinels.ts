/** Loaded before the command and in each of its threads: sentinels are sent without waiting. For tests only. */
import { usualProbes } from '../../src/engine/trip.ts'

Object.assign(usualProbes, { sentinelEveryMs: 1 })
