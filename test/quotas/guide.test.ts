/** The examples of docs/guide/quotas.md are true. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { parse, stringify } from 'yaml'
import { askPlainly } from '../proxy/client.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { startQuotaRig } from './rig.ts'

test('the refusal in the guide is the answer to the first configuration in it', async (t) => {
  const guide = await readFile('docs/guide/quotas.md', 'utf8')
  const [, yaml] = /^```yaml\n([\s\S]*?)^```$/m.exec(guide)!
  const [, shown] = /^```http\n([\s\S]*?)^```$/m.exec(guide)!
  const [head, body] = shown!.trim().split('\n\n')
  const [status, ...fields] = head!.split('\n')
  const { quotas } = parse(yaml!) as { quotas: { limits: { capacity: number }[] } }
  const upstream = await startScriptedUpstream(t)
  const flow = stringify(quotas, { collectionStyle: 'flow' }).trim()
  const { url } = await startQuotaRig(t, upstream.url, flow.replaceAll('\n', ' '))
  const ask = () => askPlainly(url, '/api/v1/query_range', { headers: { 'X-Scope-OrgID': 'team-a' } })
  // Nothing is charged for requests that the database refuses.
  upstream.script = (_, response) => response.writeHead(500).end()
  for (let i = 0; i < quotas.limits[0]!.capacity; i++) await ask()
  const answer = await ask()
  assert.equal(status, `HTTP/1.1 ${answer.status} Too Many Requests`)
  for (const field of fields) {
    const [, name, value] = /^([^:]+): (.*)$/.exec(field)!
    assert.deepEqual(
      answer.headers.filter(([key]) => key === name!.toLowerCase()),
      [[name!.toLowerCase(), value]],
    )
  }
  assert.equal(answer.body.toString(), body)
})
