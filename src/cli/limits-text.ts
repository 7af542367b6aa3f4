/** Limits, plans, usage and changes of limits as tables and lines for people. */
import type { Limit } from '../limits/limit.ts'
import { rateText } from '../limits/limit-text.ts'
import type { DeclarationAnswer, PlannedChange } from '../proxy/admin/limits-apply.ts'
import type { LimitEntry, UsageView } from '../proxy/admin/limits-views.ts'
import { type Colour, counted, numbers, oneLine, type Paint, secondsText, tableLines, texts } from './text.ts'

export interface LimitsInForce {
  readonly entity: string
  readonly resource: string
  readonly parent?: string
  readonly source: string | null
  readonly limits: readonly (Limit & { readonly available: number; readonly ttl: number | 'none' })[]
}

export interface AuditEntry extends Omit<PlannedChange, 'action' | 'level'> {
  readonly at: string
  readonly by: string
  readonly from?: string
}

const levels: Readonly<Record<string, string>> = {
  entity: 'its own limits for this resource',
  entity_default: 'its own limits',
  resource: 'the limits of the resource',
  system: 'the limits of the system',
}

const linesOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

export function inForceText({ entity, resource, parent, source, limits }: LimitsInForce): string {
  const whose = `${oneLine(entity)} at ${oneLine(resource)}`
  if (source === null) return `${whose} has no limits.\n`
  const above = parent === undefined ? '' : ` Its parent is ${oneLine(parent)}.`
  const rows = limits.map((limit) => [
    ...[oneLine(limit.name), rateText(limit), String(limit.capacity), String(limit.available)],
    limit.ttl === 'none' ? 'none' : secondsText(limit.ttl),
  ])
  const columns = [...texts('limit', 'rate'), ...numbers('capacity', 'available'), ...texts('ttl')]
  return linesOf([`${whose} has ${levels[source] ?? oneLine(source)}.${above}`, ...tableLines(columns, rows)])
}

export function entriesText(entries: readonly LimitEntry[]): string {
  if (entries.length === 0) return 'No limits are set.\n'
  const rows = entries.map((entry) => [
    ...[entry.level, oneLine(entry.entity ?? ''), oneLine(entry.resource ?? '')],
    entry.from === 'configuration' ? 'configuration' : entry.managed ? 'declaration' : 'by hand',
    valueText(entry.limits ?? entry.parent),
  ])
  return linesOf(tableLines(texts('level', 'entity', 'resource', 'set', 'limits'), rows))
}

const valueText = (value: readonly Limit[] | string | undefined): string => {
  if (value === undefined) return 'none'
  if (typeof value === 'string') return `parent ${oneLine(value)}`
  return value.map((limit) => `${oneLine(limit.name)} ${rateText(limit)}`).join('; ')
}

export const nameText = ({ entity, resource }: { entity?: string; resource?: string }): string => {
  if (entity === undefined) return resource === undefined ? 'system' : `resource ${oneLine(resource)}`
  return `entity ${oneLine(entity)}${resource === undefined ? '' : ` at ${oneLine(resource)}`}`
}

const signs: Readonly<Record<PlannedChange['action'], readonly [string, Colour]>> = {
  create: ['+', 'green'],
  update: ['~', 'yellow'],
  delete: ['-', 'red'],
  adopt: ['>', 'yellow'],
  keep: ['!', 'grey'],
}

/** One line per change. */
export function planText({ changes, unchanged }: DeclarationAnswer, paint: Paint): string {
  const lines = changes.map((change) => {
    const [sign, colour] = signs[change.action]
    const value = change.action === 'delete' ? change.before : change.after
    return paint(`${sign} ${change.action} ${nameText(change)}: ${valueText(value)}`, colour)
  })
  const kept = changes.filter(({ action }) => action === 'keep').length
  const pending = changes.length - kept
  const note = kept === 0 ? '' : `, ${kept} kept because it was set in another way (--adopt takes it over)`
  return linesOf([...lines, `${counted(pending, 'change')}, ${unchanged} unchanged${note}.`])
}

/** The stored limits and the declared ones, line by line. */
export function diffText({ changes }: DeclarationAnswer, paint: Paint): string {
  return linesOf(
    changes.flatMap(({ before, after, ...change }) => [
      `${nameText(change)}${change.action === 'keep' ? ' (set in another way; it stays)' : ''}`,
      ...(before === undefined ? [] : [paint(`- ${valueText(before)}`, 'red')]),
      ...(after === undefined ? [] : [paint(`+ ${valueText(after)}`, 'green')]),
    ]),
  )
}

export function usageText(entries: readonly UsageView[]): string {
  if (entries.length === 0) return 'Nothing was used.\n'
  const rows = entries.map(({ start, entity, resource, permits, refusals, tokens }) => [
    ...[start.slice(0, 16).replace('T', ' '), oneLine(entity), oneLine(resource)],
    ...[permits.toLocaleString('en-US'), refusals.toLocaleString('en-US')],
    Object.entries(tokens)
      .map(([name, count]) => `${oneLine(name)} ${count.toLocaleString('en-US')}`)
      .join('; '),
  ])
  const columns = [
    ...texts('from (UTC)', 'entity', 'resource'),
    ...numbers('permits', 'refusals'),
    ...texts('tokens'),
  ]
  return linesOf(tableLines(columns, rows))
}

export function auditText(entries: readonly AuditEntry[]): string {
  if (entries.length === 0) return 'No change is on record.\n'
  return linesOf(
    entries.map(({ at, by, from, before, after, ...target }) => {
      const who = `${oneLine(by)}${from === undefined ? '' : ` (${oneLine(from)})`}`
      return `${at} ${who} ${nameText(target)}: ${valueText(before)} → ${valueText(after)}`
    }),
  )
}
