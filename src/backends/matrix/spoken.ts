/** Whether a server speaks Prometheus' API, whatever it is: any other web server has no such answer to a query. */
import type { ConnectedDatabase } from '../kind.ts'

export async function speaksPrometheus(database: ConnectedDatabase): Promise<boolean> {
  try {
    const { text } = await database.get('/api/v1/query?query=1')
    const answer = JSON.parse(text) as { readonly status?: unknown } | null
    return answer?.status === 'success' || answer?.status === 'error'
  } catch {
    return false
  }
}
