/** What `windowpane --help` says. */
export const usage = `Usage: windowpane <url of the database> [options]
       windowpane --config FILE [options]
       windowpane check [--config FILE] [--print] [--connect]
       windowpane demo

  windowpane http://prometheus:9090
  windowpane http://prometheus:9090 --listen 0.0.0.0:9191 --memory 2GiB
  windowpane http://prometheus:9090 --ttl-floor 10s --max-stale 30m

Then point Grafana's Prometheus data source to the address it prints.

  --config FILE         a YAML file with several backends, policies, rules
  --listen HOST:PORT    address to listen on                          127.0.0.1:9191
  --ttl-floor TIME      how long the newest buckets are believed      5s
  --ttl-doubling TIME   age after which that doubles, again and again 1m
  --ttl-cap TIME        the longest that any bucket is believed       1h
  --max-stale TIME      how long beyond that during an outage         15m
  --memory SIZE         panes and answers kept in memory              512MiB
  --identity MODE       separate: credentials, cookies and tenants do not share answers
                        shared: everybody may see everything          separate
  --KEY=VALUE           any key of the configuration
  --version, --help

From a checkout: npm run -s windowpane -- http://prometheus:9090
`
