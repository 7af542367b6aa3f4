/** Superset's own HTTP API, as far as the charts need it. */
import { request } from 'undici'

export interface Dataset {
  readonly id: number
  readonly database: number
}

export class SupersetApi {
  readonly #url: string
  readonly #token: string

  private constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  static async logIn(url: string, account: { username: string; password: string }): Promise<SupersetApi> {
    const body = { ...account, provider: 'db' }
    const { access_token } = await send(`${url}/api/v1/security/login`, { method: 'POST', body })
    return new SupersetApi(url, access_token as string)
  }

  /** A connection to a database, and a dataset of one of its tables. */
  async addDataset(name: string, { uri, table }: { uri: string; table: string }): Promise<Dataset> {
    const database = await this.#post('/api/v1/database/', { database_name: name, sqlalchemy_uri: uri })
    const made = await this.#post('/api/v1/dataset/', {
      ...{ database: database['id'], schema: 'druid', table_name: table },
    })
    return { id: made['id'] as number, database: database['id'] as number }
  }

  /** Lets the connection of a dataset lead elsewhere. */
  async moveDatabase({ database }: Dataset, uri: string): Promise<void> {
    await this.#send('PUT', `/api/v1/database/${database}`, { sqlalchemy_uri: uri })
  }

  /** The results of a chart's queries; Superset's own cache is not used. */
  async chartData(dataset: Dataset, queries: readonly object[]): Promise<readonly ChartResult[]> {
    const body = { datasource: { id: dataset.id, type: 'table' }, force: true, queries }
    const { result } = await this.#post('/api/v1/chart/data', {
      ...body,
      ...{ result_format: 'json', result_type: 'full' },
    })
    return result as ChartResult[]
  }

  #post(path: string, body: object): Promise<Record<string, unknown>> {
    return this.#send('POST', path, body)
  }

  #send(method: 'POST' | 'PUT', path: string, body: object): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${this.#token}` }
    return send(`${this.#url}${path}`, { method, body, headers })
  }
}

export interface ChartResult {
  readonly rowcount: number
  readonly data: readonly object[]
}

interface Message {
  readonly method: 'POST' | 'PUT'
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

async function send(url: string, { method, body, headers }: Message): Promise<Record<string, unknown>> {
  const response = await request(url, {
    ...{ method, body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', ...headers },
  })
  const text = await response.body.text()
  if (response.statusCode >= 300) throw new Error(`${url} answered ${response.statusCode}: ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}
