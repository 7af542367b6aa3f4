/** The state and the operations of one database of a running server, for other modules. */
import type { Flavour } from '../../backends/backend.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../../engine/learning/sampling.ts'
import { shapesNamed } from '../../engine/shapes-named.ts'
import type { SwitchableMode } from '../admin/shadow.ts'
import type { SegmentFigures } from '../upstream/witness.ts'
import type { LearningFigures } from './backend-learning.ts'
import type { BackendRuntime, BackendRuntimeFigures } from './backend-runtime.ts'
import type { ServerParts } from './parts.ts'
import type { ServedBackend } from './served-backends.ts'

export interface DatabaseState {
  readonly name: string
  /** Where its requests are answered, without the path of its route. */
  readonly url: string
  readonly flavour: Flavour
  readonly backendRuntime: BackendRuntime
  readonly modes: SwitchableMode
  figures(): BackendRuntimeFigures
  /** By key, or by the text of the shape or of its query. */
  shapesNamed(names: ReadonlySet<string>): ReturnType<typeof shapesNamed>
  /** How the watcher of its segments fares; undefined where there is none. */
  readonly segments: SegmentFigures | undefined
  learning(): LearningFigures
  /** Fetches buckets of recently requested shapes twice, and learns from the differences. */
  sample(order: SamplingOrder): Promise<Sampled | NotSampled>
}

interface StateParts {
  readonly url: string
  readonly parts: Pick<ServerParts, 'figures' | 'sample'>
  readonly setMode: SwitchableMode['set']
}

export function databaseState(
  { name, store, backendRuntime }: ServedBackend,
  { url, parts, setMode }: StateParts,
): DatabaseState {
  return {
    ...{ name, url, backendRuntime },
    modes: {
      get state() {
        return backendRuntime.modes.state
      },
      set: setMode,
    },
    shapesNamed: (names) => shapesNamed(store, name, names),
    figures: () => parts.figures?.(name) ?? backendRuntime.figures(),
    sample: (order) => parts.sample?.(name, order) ?? backendRuntime.sampling.run(order),
    learning: () => backendRuntime.learning.figures(),
    get flavour() {
      return backendRuntime.flavour
    },
    get segments() {
      return backendRuntime.segments
    },
  }
}
