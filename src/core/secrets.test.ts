import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { fingerprintOf, isSecretName, maskForm, withoutSecrets } from './secrets.ts'

for (const name of [
  ...['access_token', 'token', 'id_token', 'X-Auth-Token', 'api_key', 'apikey', 'API-Key', 'key', 'authKey'],
  ...[
    'auth',
    'authorization',
    'password',
    'passwd',
    'pwd',
    'pass',
    'secret',
    'client_secret',
    'sig',
    'signature',
  ],
  ...[
    'X-Amz-Signature',
    'X-Amz-Credential',
    'X-Amz-Security-Token',
    'X-Goog-Signature',
    'jwt',
    'sid',
    'session',
  ],
]) {
  test(`${name} is the name of a secret`, () => assert.ok(isSecretName(name)))
}

for (const name of [
  ...[
    'query',
    'start',
    'end',
    'step',
    'timeout',
    'limit',
    'lookback_delta',
    'stats',
    'dedup',
    'partial_response',
  ],
  ...[
    'max_source_resolution',
    'storeMatch[]',
    'replicaLabels[]',
    'extra_label',
    'extra_filters[]',
    'nocache',
  ],
  ...['tenant', 'engine', 'pretty', 'tokenFile'],
]) {
  test(`${name} is not`, () => assert.ok(!isSecretName(name)))
}

test('in a form only the values of secret parameters are masked', () => {
  assert.equal(maskForm(''), '')
  assert.equal(
    maskForm('query=up&token=abc&x=1&&access%5Ftoken=a%20b&key'),
    'query=up&token=***&x=1&&access%5Ftoken=***&key',
  )
  assert.equal(
    maskForm('token=a&%ff=b', (value) => `<${value}>`),
    'token=<a>&%ff=b',
  )
})

test('unequal secrets have unequal fingerprints, which do not show them', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 3 }), fc.string({ minLength: 3 }), (one, other) => {
      assert.equal(fingerprintOf(one) === fingerprintOf(other), one === other)
      assert.match(fingerprintOf(one), /^\*{3}[\w-]{22}$/)
    }),
  )
})

for (const [given, shown] of [
  ['see http://db:9090/x, https://[::1]:1/ and //h', 'see http://db:9090/x, https://[::1]:1/ and //h'],
  ['http://u:p@a:9090/x', 'http://***@a:9090/x'],
  ['Authorization: Bearer abc.def-1', 'Authorization: Bearer ***'],
  ['GET /x?query=up&access_token=abc', 'GET /x?query=up&access_token=***'],
  ['rate(x{key="a",token=~"b"}[5m])', 'rate(x{key="a",token=~"b"}[5m])'],
  [String.raw`["x{token=\"b\"}",15000]`, String.raw`["x{token=\"b\"}",15000]`],
] as const) {
  test(`${given} is shown as ${shown}`, () => assert.equal(withoutSecrets(given), shown))
}

/**
 * Raw in a URL, as people write it; including characters that must be escaped there, and look-alikes of other syntax.
 */
const passwords = fc
  .array(fc.constantFrom(...'aZ0-_.~!$&()*+,;=:%?#/@ \\\'"[]{}'), { maxLength: 12 })
  .map((characters) => `Kn0x${characters.join('')}Vw7q`)
const users = fc.constantFrom('', 'u', 'us%40r', 'a.b', 'token')
const schemes = fc.constantFrom('http://', 'https://', 'redis://', 'HTTP://', '//', 'http:\\/\\/')
const others = fc.constantFrom(
  ...['', ' token: x', ' Bearer abcdefgh', ' //x', ' a@b', ', password: "p@q"', ' http://h:1/', ' ?token=1'],
)

/** Any usable part of the password: the search looks for its beginning and its end. */
const shows = (text: string): boolean => /Kn0x|Vw7q/.test(text)

test('the password of a URL is never shown, whatever else is on the line', () => {
  const lines = fc.tuple(others, schemes, users, passwords, others)
  fc.assert(
    fc.property(lines, ([before, scheme, user, password, behind]) => {
      const line = `url: ${before} ${scheme}${user}:${password}@host:9090/x${behind}`
      assert.ok(!shows(withoutSecrets(line)), withoutSecrets(line))
    }),
    { numRuns: 2_000 },
  )
})
