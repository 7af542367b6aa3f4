/** Windowpane as a library: start the proxy, or put the pieces together yourself. */
export type { Backend } from './backends/backend.ts'
export { type OpenStoreOptions, openStore } from './config/open-store.ts'
export { type Clock, systemClock } from './core/clock.ts'
export { WindowpaneError } from './core/errors.ts'
export { type ResponseContext, responseTerms } from './engine/objects/http-freshness.ts'
export { keyOfUrl } from './engine/objects/http-key.ts'
export { type ObjectResponse, objectResponse } from './engine/objects/http-status.ts'
export { type ObjectCacheOptions, objectCache } from './engine/objects/object-cache.ts'
export type {
  Invalidated,
  ObjectAnswer,
  ObjectCache,
  ObjectKey,
  ObjectState,
  ObjectTerms,
  Render,
  Rendered,
} from './engine/objects/objects.ts'
export { type FetchHandler, type FetchHandlerOptions, fetchHandler } from './library/fetch-handler.ts'
export { type BucketTtlOptions, bucketTtlSeconds } from './limits/bucket-ttl.ts'
export { countedLimiter } from './limits/counted-limiter.ts'
export type {
  AcquireRequest,
  EntityStatus,
  Limit,
  Limiter,
  LimitResolver,
  LimitSource,
  LimitStatus,
  Permit,
  Refusal,
  RefusalCause,
  ResolvedLimits,
} from './limits/limit.ts'
export { type LimiterOptions, limiter } from './limits/limiter.ts'
export {
  type BaseLimits,
  type ChangeOutcome,
  LimitRegistry,
  type ListedRow,
  type RegistryOptions,
} from './limits/registry.ts'
export { UsageCounter, type UsageOptions } from './limits/usage.ts'
export { startWindowpane, type Windowpane, type WindowpaneOptions } from './proxy/assembly/windowpane.ts'
export { defaultLimits, type Limits } from './proxy/limits.ts'
export type { OpenedStore } from './stores/kind.ts'
export type { Store } from './stores/store.ts'
export type { FetchMessage, RequestMessage } from './telemetry/channels.ts'
export { type ChangeObservation, estimateRate, type RateEstimate } from './ttl/change-rate.ts'
export { type ExponentialOptions, exponential } from './ttl/exponential.ts'
export { fixed } from './ttl/fixed.ts'
export { type LadderOptions, ladder } from './ttl/ladder.ts'
export { type LearnedOptions, learned } from './ttl/learned/learned-policy.ts'
export { type LinearOptions, linear } from './ttl/linear.ts'
export { type LogarithmicOptions, logarithmic } from './ttl/logarithmic.ts'
export type { TtlPolicy } from './ttl/policy.ts'
export { type RateOptions, rate } from './ttl/rate.ts'
export { computeTtl, staleFraction } from './ttl/staleness-budget.ts'
export { type Step, type StepsOptions, steps } from './ttl/steps.ts'
