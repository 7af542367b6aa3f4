/**
 * The long run: `npm run test:druid:long`, or with files for a part of it. The differential suite with many more
 * comparisons. WINDOWPANE_DRUID_FIXTURE names a running Druid (`npm run druid`), otherwise one is started.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const comparisons = '60000'
const parts = ['native', 'sql', 'relative', 'own-caches'].map(
  (name) => `test/druid/differential/${name}.test.ts`,
)

const given = process.argv.slice(2)
const child = spawn(
  process.execPath,
  [join(import.meta.dirname, '../../run.ts'), ...(given.length > 0 ? given : parts)],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      WINDOWPANE_COMPARISONS: process.env['WINDOWPANE_COMPARISONS'] || comparisons,
      WINDOWPANE_REPLAY: 'npm run test:druid:long --',
    },
  },
)
process.once('exit', () => child.kill())
child.once('close', (code) => {
  process.exitCode = code ?? 1
})
