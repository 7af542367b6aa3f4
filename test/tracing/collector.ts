/** A collector that accepts OTLP over HTTP and keeps its input. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { OtlpSpan } from '../../src/telemetry/tracing-otlp.ts'
import { bodyOf } from '../proxy/scripted-upstream.ts'

export interface FakeCollector {
  readonly url: string
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  readonly spans: OtlpSpan[]
  /** The status of its answers. */
  status: number
  close(): Promise<void>
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

export async function startCollector(t: TestContext): Promise<FakeCollector> {
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    collector.requests.push({ path: request.url!, headers: request.headers })
    const { resourceSpans } = JSON.parse(body.toString()) as Sent
    if (collector.status < 300)
      collector.spans.push(...resourceSpans.flatMap((each) => each.scopeSpans.flatMap(({ spans }) => spans)))
    response.writeHead(collector.status, { 'Content-Type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const collector: FakeCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    spans: [],
    status: 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  t.after(() => collector.close())
  return collector
}

export function attribute({ attributes }: OtlpSpan, name: string): string | undefined {
  const value = attributes.find(({ key }) => key === name)?.value
  return value === undefined ? undefined : String(Object.values(value)[0])
}
