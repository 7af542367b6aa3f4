/** The state and the operations of one database of a running server, for other modules. */
import type { Flavour } from '../../backends/backend.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../../engine/learning/sampling.ts'
import { shapesNamed } from '../../engine/shapes-named.ts'
import type { SwitchableMode } from '../admin/shadow.ts'
import type { SegmentFigures } from '../upstream/witness.ts'
import type { BackendRuntimeFigures } from './backend-runtime.ts'
import type { ServerParts } from './parts.ts'
import type { ServedBackend } from './served-backends.ts'

export type DatabaseState = ReturnType<typeof databaseState>

interface StateParts {
  /** Where its requests are answered, without the path of its route. */
  readonly url: string
  readonly parts: Pick<ServerParts, 'figures' | 'sample'>
  readonly setMode: SwitchableMode['set']
}

export function databaseState(
  { name, store, backendRuntime }: ServedBackend,
  { url, parts, setMode }: StateParts,
) {
  const modes: SwitchableMode = {
    get state() {
      return backendRuntime.modes.state
    },
    set: setMode,
  }
  return {
    ...{ name, url, backendRuntime, modes },
    get flavour(): Flavour {
      return backendRuntime.flavour.current
    },
    /** How the watcher of its segments fares; undefined where there is none. */
    get segments(): SegmentFigures | undefined {
      return backendRuntime.watcher?.figures
    },
    learning: () => backendRuntime.learning.figures(),
    /** By key, or by the text of the shape or of its query. */
    shapesNamed: (names: ReadonlySet<string>) => shapesNamed(store, name, names),
    figures: (): BackendRuntimeFigures => parts.figures?.(name) ?? backendRuntime.figures(),
    /** Fetches buckets of recently requested shapes twice, and learns from the differences. */
    sample: (order: SamplingOrder): Promise<Sampled | NotSampled> =>
      parts.sample?.(name, order) ?? backendRuntime.sampling.run(order),
  }
}
