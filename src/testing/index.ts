/** What tests of backends, stores and policies need; published as `windowpane/testing`. */
export { type FakeClock, fakeClock } from './fake-clock.ts'
