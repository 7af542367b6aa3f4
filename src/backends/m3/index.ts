/**
 * M3: range queries to a coordinator, computed by the engine of Prometheus. Requests for parts that do not end where the client's
 * ends go on for a millisecond: otherwise a sample at their last step would not be read.
 */

import { startOf } from '../../core/grid.ts'
import { headerOf } from '../../core/headers.ts'
import type { Interval } from '../../core/interval.ts'
import type { HeaderList, Plan } from '../backend.ts'
import { type MatrixBackend, matrixBackend } from '../matrix/backend.ts'
import { printSeconds, type Values } from '../matrix/narrow.ts'
import type { LateOptions } from '../matrix/settled-age.ts'
import { plainWire, type Wire } from '../matrix/wire.ts'
import { flavour } from './flavour.ts'
import { createPlanner, isQuestionHeader } from './plan.ts'

const wire: Wire = { ...plainWire, hasShortInstants: true, lineFeed: 'always', isPartial }

/** It always reports whether it was limited, and warnings only where it has some. */
function isPartial(headers: HeaderList): boolean {
  const limited = headerOf(headers, 'm3-returned-data-limited')
  if (limited !== undefined && !limited.includes('"Limited":false')) return true
  return ['m3-results-limited', 'm3-warnings'].some((name) => headerOf(headers, name) !== undefined)
}

export const m3 = (options: LateOptions): MatrixBackend =>
  matrixBackend({
    name: 'm3',
    ...{ flavour, isQuestionHeader },
    planner: createPlanner(options),
    wire,
    parameters: endOf,
  })

function endOf({ grid, window, edges }: Plan, { to }: Interval): Values {
  const isClientsEnd = edges !== undefined && to === window.to
  return isClientsEnd ? [] : [['end', printSeconds(startOf(grid, to - 1) + 1)]]
}
