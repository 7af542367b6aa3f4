/**
 * Draws the curve that is learned in four simulated days of slow lateness, as `windowpane ttl` shows it: `npm run
 * bench:staleness:curve` writes docs/guide/learned-ttl.svg and prints the terminal's version. The same every time.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ttlSvg } from '../../src/cli/ttl-svg.ts'
import { ttlLines } from '../../src/cli/ttl-text.ts'
import { learned } from '../../src/ttl/learned/learned-policy.ts'
import { ttlReport } from '../../src/ttl/ttl-report.ts'
import { simulateStaleness } from '../../test/rigs/staleness-simulation.ts'

const budget = 0.01
const file = join(import.meta.dirname, '../../docs/guide/learned-ttl.svg')

const { curve } = await simulateStaleness({
  ...{ models: ['expslow'], policies: [{ kind: 'learned', budget }], seed: 1 },
  ...{ windowHours: 24, viewers: 1, several: false, warmUpHours: 72, measuredHours: 24 },
})
const report = { backend: 'main', ...ttlReport(learned({ staleness: budget }), { report: () => curve }) }
writeFileSync(file, ttlSvg(report))
console.log(ttlLines(report, { columns: 80, hasUtf8: true, paint: (text) => text }).join('\n'))
