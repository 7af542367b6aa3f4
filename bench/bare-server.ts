/** The bound: node:http reading a request, body included, and writing one prepared buffer. Takes the URL whose answer it serves. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'

const { body } = await request(process.argv[2]!)
const bytes = Buffer.from(await body.arrayBuffer())
const server = createServer((asked, response) => {
  const answer = () => {
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)])
    response.end(bytes)
  }
  if (asked.method === 'GET') answer()
  else asked.on('data', () => {}).on('end', answer)
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
