/** An admin listener with answers set by the test, which records its requests. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { bodyOf } from '../proxy/scripted-upstream.ts'

export interface Asked {
  readonly method: string
  readonly target: string
  readonly authorization: string | undefined
  readonly body: string
}

export interface FakeAdmin {
  readonly url: string
  /** Without the requests that only identify the proxy. */
  readonly asked: Asked[]
  /** By path, without parameters: the answer, as JSON with 200, or by a listener. */
  readonly answers: Map<string, unknown>
  close(): Promise<void>
}

const upstreams = [{ url: 'http://prometheus:9090/', healthy: true, failures: 0 }]

const fakeStatus = {
  ...{ version: '9.8.7', pid: 4711, configuration: { source: 'flags' } },
  backends: [{ name: 'main', upstreams }],
}

/** The first line of a command that changes something. */
export const talkingTo = ({ url }: FakeAdmin): string =>
  `windowpane: talking to Windowpane 9.8.7 at ${url} (pid 4711, configuration flags, main → http://prometheus:9090/)\n`

export async function startFakeAdmin(
  t: TestContext,
  answers: Readonly<Record<string, unknown>>,
): Promise<FakeAdmin> {
  const server = createServer(async (request, response) => {
    const path = request.url!.split('?')[0]!
    const asked = await askedOf(request)
    if (path !== '/-/status') fake.asked.push(asked)
    const answer = fake.answers.get(path)
    if (typeof answer === 'function') (answer as RequestListener)(request, response)
    else if (answer === undefined) response.writeHead(404).end('windowpane: there is nothing here\n')
    else response.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const fake: FakeAdmin = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    answers: new Map([['/-/status', fakeStatus], ...Object.entries(answers)]),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  t.after(() => fake.close())
  return fake
}

const askedOf = async (request: IncomingMessage): Promise<Asked> => ({
  method: request.method!,
  target: request.url!,
  authorization: request.headers.authorization,
  body: (await bodyOf(request)).toString(),
})

/** An answer of the error form of the admin listener. */
export const refusal =
  (status: number, sentence: string): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`windowpane: ${sentence}\n`)
