/** The bound: node:http writing one prepared buffer. Takes the URL whose answer it serves. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'

const { body } = await request(process.argv[2]!)
const bytes = Buffer.from(await body.arrayBuffer())
const server = createServer((_, response) => {
  response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)])
  response.end(bytes)
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
