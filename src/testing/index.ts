/** The tools for tests of backends, stores and policies; published as `windowpane/testing`. */

export { type AsynchronousOptions, asynchronous } from './asynchronous.ts'
export { type CellQuery, cellBackend } from './cell-backend.ts'
export { type FakeClock, fakeClock } from './fake-clock.ts'
export { mixSeeds, pick, type Random, seededRandom, wholeNumber } from './random.ts'
export { type BackendLaws, type RequestPair, testBackend } from './test-backend.ts'
export { testObjects } from './test-objects.ts'
export { type CellLaws, type StoreCapabilities, type StoreLaws, testCells, testStore } from './test-store.ts'
