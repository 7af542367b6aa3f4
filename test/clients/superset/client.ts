/**
 * Superset as a client: every chart of a dataset through its API. The dataset's connection leads to one Druid after the
 * other, as where an operator puts Windowpane in between; a Superset on SQLite takes no two datasets of one table.
 */
import type { ServerProcess } from '../../servers/process.ts'
import { type DruidClient, introduction, type Subject } from '../client.ts'
import { type Dataset, SupersetApi } from './api.ts'
import { charts } from './charts.ts'
import { account, startSuperset } from './server.ts'

export async function superset(python: string, subject: Subject): Promise<DruidClient> {
  const server = await startSuperset(python)
  const api = await SupersetApi.logIn(server.url, account)
  let dataset: Dataset | undefined
  return {
    name: 'superset',
    async *ask(url) {
      const uri = `${url.replace(/^http/, 'druid')}/druid/v2/sql/`
      if (dataset === undefined) dataset = await api.addDataset('Druid', { uri, table: subject.dataSource })
      else await api.moveDatabase(dataset, uri)
      yield introduction
      for (const { name, queries } of charts(rangeOf(subject))) {
        const results = await api.chartData(dataset, queries)
        if (results.some(({ rowcount }) => rowcount === 0)) throw new Error(emptyText(name, server))
        yield name
      }
    },
    stop: () => server.stop(),
  }
}

const rangeOf = ({ from, to }: Subject) => ({ from: local(from), to: local(to) })
const local = (at: Date): string => at.toISOString().slice(0, 19)

const emptyText = (chart: string, server: ServerProcess): string =>
  `the chart "${chart}" of Superset is empty; its last lines:\n${server.log()}`
