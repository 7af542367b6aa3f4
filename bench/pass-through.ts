/** The bound of a miss: a Node program that does nothing but pass bytes on, with the HTTP stacks that the proxy uses. Takes the database's URL. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

const pool = new Pool(process.argv[2]!)
const server = createServer((request, response) => {
  const headers: string[] = []
  pool.dispatch(
    { method: 'GET', path: request.url!, headers },
    {
      onRequestStart() {},
      onResponseStart(controller, status, given) {
        response.writeHead(status, { 'Content-Type': String(given['content-type']) })
        response.on('drain', () => controller.resume())
      },
      onResponseData(controller, chunk) {
        if (!response.write(chunk)) controller.pause()
      },
      onResponseEnd() {
        response.end()
      },
      onResponseError() {
        response.destroy()
      },
    },
  )
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
