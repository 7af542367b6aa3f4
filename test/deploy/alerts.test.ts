/** The alert rules: promtool accepts them, they fire when they should, and each sends its reader to a remedy. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { requireServer } from '../data/fixture.ts'
import { anchorsIn } from '../docs/anchors.ts'
import { findProgram } from '../servers/debian.ts'
import { readRules, rulesFile } from './dashboard.ts'

const run = promisify(execFile)
const worlds = join(import.meta.dirname, 'alerts.promtool.yaml')
const guide = join(import.meta.dirname, '../../docs/guide/trouble.md')
const rules = await readRules()

test('promtool accepts the rules; none fires on a healthy day, all do on a bad one', async (t) => {
  const promtool = requireServer(t, await findProgram({ package: 'promtool' }))
  if (promtool === null) return
  await run(promtool.path, ['check', 'rules', '--lint=all', '--lint-fatal', rulesFile])
  await run(promtool.path, ['test', 'rules', worlds])
  const tested = await readFile(worlds, 'utf8')
  for (const { alert } of rules)
    assert.ok(tested.includes(`{alertname="${alert}"}`), `${alert} is not tested`)
})

const kebab = (name: string): string => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()

test('every alert has a severity, a summary and a link', () => {
  for (const { alert, labels, annotations } of rules) {
    assert.match(alert, /^Windowpane([A-Z][a-z]+)+$/)
    assert.match(labels['severity']!, /^(info|warning|critical)$/)
    assert.ok(annotations['summary'] && annotations['description'], alert)
    assert.equal(annotations['runbook_url'], `docs/guide/trouble.md#${kebab(alert)}`)
  }
})

test('the guide has a section for every alert', async (t) => {
  const text = await readFile(guide, 'utf8').catch(() => undefined)
  if (text === undefined) return t.skip('docs/guide/trouble.md is not written yet')
  const anchors = anchorsIn(text)
  for (const { alert } of rules) assert.ok(anchors.has(kebab(alert)), `no section ${kebab(alert)}`)
})
