/**
 * The resources of fleets: `npm run bench:capacity`; the cost of a store to a node: `npm run bench:capacity -- measure
 * [URL]`.
 */
import { readCosts } from './capacity/costs.ts'
import { measureStore } from './capacity/measure.ts'
import { bytesTable, demandTable } from './capacity/tables.ts'

const [command, url] = process.argv.slice(2)
if (command === 'measure') console.log(JSON.stringify(await measureStore(url)))
else console.log(`${demandTable(readCosts())}\n\n${bytesTable(readCosts())}`)
