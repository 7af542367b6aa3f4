/** Windowpane as a library: start the proxy, or put the pieces together yourself. */
export { type Clock, systemClock } from './core/clock.ts'
export { WindowpaneError } from './core/errors.ts'
export { defaultLimits, type Limits } from './proxy/limits.ts'
export { startWindowpane, type Windowpane, type WindowpaneOptions } from './proxy/server.ts'
export { fixed } from './ttl/fixed.ts'
export { type LadderOptions, ladder } from './ttl/ladder.ts'
export type { TtlPolicy } from './ttl/policy.ts'
