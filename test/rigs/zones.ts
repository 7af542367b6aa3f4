/** Zones and calendars with everything that clocks ever did to beginnings of days: for tests of grids. */
import type { Calendar } from '../../src/core/calendar.ts'

export const oddZones = [
  { name: 'UTC', why: 'nothing ever changes' },
  { name: '-08:00', why: 'a fixed offset' },
  { name: 'America/New_York', why: 'days of 23 and 25 hours' },
  { name: 'Europe/Berlin', why: 'the same, east of Greenwich; double summer time in 1945' },
  { name: 'Asia/Kolkata', why: 'half an hour off, no changes for long' },
  { name: 'Asia/Kathmandu', why: 'three quarters of an hour off; another offset in 1970' },
  { name: 'Australia/Lord_Howe', why: 'clocks are set by half an hour' },
  { name: 'America/Sao_Paulo', why: 'no midnight on the first day of summer time, until 2018' },
  { name: 'America/Havana', why: 'no midnight in spring, two in autumn' },
  { name: 'Pacific/Apia', why: 'no 30 December 2011' },
  { name: 'America/St_Johns', why: 'changes a minute after midnight, until 2011' },
] as const

/** As the period grammar of ISO 8601 has them, from the usual beginnings. */
export const periods: Readonly<Record<string, Pick<Calendar, 'unit' | 'count' | 'origin'>>> = {
  P1D: { unit: 'day', count: 1, origin: 0 },
  P2D: { unit: 'day', count: 2, origin: 0 },
  /** From a Monday. */
  P1W: { unit: 'day', count: 7, origin: 4 * 86_400_000 },
  P1M: { unit: 'month', count: 1, origin: 0 },
  P3M: { unit: 'month', count: 3, origin: 0 },
  P1Y: { unit: 'month', count: 12, origin: 0 },
}
