/**
 * The bound: node:http reading a request, body included, and writing one of a few prepared buffers, in turn. Takes the URLs whose
 * answers it serves.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'

const answers = await Promise.all(
  process.argv.slice(2).map(async (url) => Buffer.from(await (await request(url)).body.arrayBuffer())),
)
let turn = 0
const server = createServer((asked, response) => {
  const answer = () => {
    const bytes = answers[turn++ % answers.length]!
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)])
    response.end(bytes)
  }
  if (asked.method === 'GET') answer()
  else asked.on('data', () => {}).on('end', answer)
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
