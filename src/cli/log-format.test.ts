import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../config/load.ts'
import { logFormatOf } from './log-format.ts'

const formatFor = (logFormat: string | undefined, isErrTerminal: boolean): string => {
  const flags = logFormat === undefined ? [] : [{ name: 'telemetry.log-format', value: logFormat }]
  const loaded = loadConfig({ upstream: 'http://a', flags })
  assert.ok('config' in loaded)
  return logFormatOf(loaded.config, { isErrTerminal })
}

test('lines are text on a terminal and JSON elsewhere, unless the configuration sets the format', () => {
  assert.deepEqual([formatFor(undefined, true), formatFor(undefined, false)], ['text', 'json'])
  assert.deepEqual([formatFor('json', true), formatFor('text', false)], ['json', 'text'])
})
