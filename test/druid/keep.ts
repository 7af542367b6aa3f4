/** `npm run druid`: a Druid with the data sets that stays until it is ended, for tests and trials one after the other. */
import { isUnavailable } from '../servers/availability.ts'
import { druidEnvironment, startOwnDruidFixture } from './fixture.ts'

const druid = await startOwnDruidFixture()
if (isUnavailable(druid)) {
  process.stderr.write(`${druid.unavailable}\n`)
  process.exitCode = 1
} else {
  for (const [name, value] of Object.entries(druidEnvironment(druid))) {
    process.stdout.write(`export ${name}='${value}'\n`)
  }
}
