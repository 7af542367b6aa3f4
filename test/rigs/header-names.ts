/** Names of request headers as they are met in practice, for tests of identity partitions. */

const namesIn = (bySender: Readonly<Record<string, string>>): readonly string[] =>
  Object.values(bySender).flatMap((names) => names.split(/\s+/))

/** Names by which clients, gateways, authenticating proxies and load balancers identify the user or the tenant. */
export const namesThatSayWho = namesIn({
  HTTP: 'Authorization Proxy-Authorization Cookie Client-Cert Client-Cert-Chain',
  'other names of Authorization':
    'X-Forwarded-Authorization X-Original-Authorization X-Serverless-Authorization',
  'Mimir, Cortex, Loki': 'X-Scope-OrgID X-Org-Id X-Prom-Label-Policy',
  Thanos: 'THANOS-TENANT X-Tenant X-Tenant-Id Tenant',
  VictoriaMetrics: 'AccountID ProjectID',
  Grafana: 'X-Grafana-User X-Grafana-Id X-Id-Token X-WEBAUTH-USER X-WEBAUTH-GROUPS',
  tokens: 'X-Access-Token X-Auth-Token X-Csrf-Token X-Xsrf-Token Private-Token X-Vault-Token',
  'keys of an API': 'X-API-Key Api-Key ApiKey DD-API-KEY',
  'oauth2-proxy, as a server of nginx': `X-Auth-Request-User X-Auth-Request-Email X-Auth-Request-Groups X-Auth-Request-Preferred-Username
    X-Auth-Request-Access-Token`,
  'oauth2-proxy, as a proxy': `X-Forwarded-User X-Forwarded-Email X-Forwarded-Groups X-Forwarded-Preferred-Username
    X-Forwarded-Access-Token`,
  Envoy: 'X-Forwarded-Client-Cert',
  Traefik: 'X-Forwarded-Tls-Client-Cert X-Forwarded-Tls-Client-Cert-Info',
  'HAProxy, nginx': `X-SSL-Client-Cert X-SSL-Client-CN X-SSL-Client-DN X-SSL-Client-S-DN X-SSL-Client-Verify
    ssl-client-subject-dn X-Client-Cert X-Client-DN`,
  AWS: `X-Amz-Security-Token X-Amzn-Mtls-Clientcert X-Amzn-Mtls-Clientcert-Subject X-Amzn-Oidc-Data
    X-Amzn-Oidc-Identity X-Amzn-Oidc-Accesstoken`,
  'Google Cloud': `X-Goog-Authenticated-User-Email X-Goog-Authenticated-User-Id X-Goog-Iap-Jwt-Assertion
    X-Goog-User-Project X-Apigateway-Api-Userinfo X-Endpoint-API-UserInfo`,
  'Cloudflare Access':
    'Cf-Access-Authenticated-User-Email Cf-Access-Jwt-Assertion Cf-Access-Client-Id Cf-Access-Client-Secret',
  Azure: `X-ARR-ClientCert X-Ms-Client-Principal X-Ms-Client-Principal-Id X-Ms-Client-Principal-Name
    X-Ms-Token-Aad-Id-Token`,
  Kubernetes: `Impersonate-User Impersonate-Group Impersonate-Extra-Scopes X-Remote-User X-Remote-Group
    X-Remote-Extra-Scopes`,
  authentik: 'X-Authentik-Username X-Authentik-Groups X-Authentik-Uid X-Authentik-Jwt',
  Authelia: 'Remote-User Remote-Groups Remote-Name Remote-Email',
  Kong: `X-Consumer-Id X-Consumer-Username X-Consumer-Custom-Id X-Anonymous-Consumer
    X-Credential-Identifier X-Authenticated-Userid X-Userinfo`,
  'claims of a JWT': 'X-JWT-Assertion X-Jwt-Claim-Sub OIDC_CLAIM_sub',
  Pomerium: 'X-Pomerium-Claim-Email X-Pomerium-Jwt-Assertion',
  'Vouch, Tailscale': 'X-Vouch-User X-Vouch-IdP-Claims-Name Tailscale-User-Login',
  'names that people choose': 'X-User X-User-Id X-Email X-Roles X-Session-Id',
})

/** Other names that clients and proxies send: the origin of a request and its context, often new with each request. */
export const namesOfOthers = namesIn({
  browsers: `Accept Accept-Language DNT Priority Referer Sec-Ch-Ua Sec-Fetch-Mode Sec-Fetch-User User-Agent
    X-Requested-With`,
  proxies: `Forwarded Via Remote-Addr X-Remote-Addr X-Real-IP X-Forwarded-For X-Forwarded-Host X-Forwarded-Port
    X-Forwarded-Proto`,
  'CDNs and gateways': `Cf-Connecting-IP Cf-Ray X-Amz-Cf-Id X-Envoy-Expected-Rq-Timeout-Ms X-Envoy-External-Address
    X-Kong-Request-Id`,
  tracing: `Baggage Traceparent Tracestate Uber-Trace-Id X-Amzn-Trace-Id X-B3-TraceId X-Cloud-Trace-Context
    X-Datadog-Trace-Id`,
  'ids of a request': 'Idempotency-Key X-Correlation-Id X-Request-Id X-Request-Start',
  Grafana: `FromAlert X-Dashboard-Title X-Dashboard-Uid X-Datasource-Uid X-Grafana-Device-Id X-Grafana-From-Expr
    X-Grafana-Org-Id X-Panel-Id X-Panel-Plugin-Id X-Panel-Title X-Query-Group-Id X-Rule-Folder X-Rule-Name
    X-Rule-Uid`,
  Loki: 'X-Query-Tags',
})
