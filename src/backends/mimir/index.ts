/** Grafana Mimir: range queries below `/prometheus`, which is a part of the URL of the database. */
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import type { LateOptions } from '../matrix/settled-age.ts'
import { plainWire, type Wire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { createPlanner, isQuestionHeader } from './plan.ts'
import { mergedRank } from './series-order.ts'

/** Versions since 3.1 end an answer with a line feed. */
const wire: Wire = { ...plainWire, lineFeed: 'by version', rankOf: mergedRank }

export const mimir = (options: LateOptions): MatrixBackend =>
  matrixBackend({
    name: 'mimir',
    ...{ flavour, isQuestionHeader },
    planner: createPlanner(options),
    wire,
  })
