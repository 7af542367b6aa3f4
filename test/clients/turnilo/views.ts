/**
 * Views of Turnilo, as it makes expressions of them: the filtered data, the measures over all of it, and splits inside of each other,
 * each with its measures, its order and its limit. Plywood plans the queries.
 */
import type { Subject } from '../client.ts'
import type { Expression, Plywood } from './plywood.ts'

const DAY = 86_400_000

export function views({ $, r, ply }: Plywood, { from, to }: Subject): Readonly<Record<string, Expression>> {
  const main = $('main')
  const time = $('__time')
  const during = (start: Date, end: Date) => time.overlap({ start, end })
  const whole = during(from, to)
  const measured = (expression: Expression) =>
    expression.apply('added', main.sum('$added')).apply('count', main.sum('$cnt'))
  /** The data of a view, and its measures over all of it. */
  const over = (filter = whole) => measured(ply().apply('main', main.filter(filter)))
  const within = (split: Expression, filter = whole) => over(filter).apply('SPLIT', split)
  const bucket = (duration: string, zone = 'Etc/UTC') => time.timeBucket(duration, zone)
  const byTime = (duration: string, zone?: string) =>
    measured(main.split(bucket(duration, zone), '__time')).sort('$__time', 'ascending')
  const byDimension = (name: string, limit: number) =>
    measured(main.split(`$${name}`, name))
      .sort('$added', 'descending')
      .limit(limit)
  const uniques = (expression: Expression) =>
    expression
      .apply('users', main.countDistinct('$users'))
      .apply('average', main.sum('$added').divide(main.sum('$cnt')))
  const flat = main.filter(whole).split({ __time: bucket('P1D'), country: '$country' })

  const middle = new Date((from.getTime() + to.getTime()) / 2)
  const shifted = new Date(middle.getTime() - DAY)
  const [now, before] = [during(middle, to), during(shifted, new Date(to.getTime() - DAY))]
  const compared = (expression: Expression) =>
    expression
      .apply('added', main.filter(now).sum('$added'))
      .apply('_previous__added', main.filter(before).sum('$added'))
      .apply('_delta__added', $('added').subtract($('_previous__added')))
  const comparedTime = now.then(time).fallback(time.timeShift('P1D', 1)).timeBucket('PT1H', 'Etc/UTC')

  return {
    totals: over(),
    line: within(byTime('PT1H')),
    'line, days of a zone': within(byTime('P1D', 'America/New_York')),
    'line, chosen values': within(byTime('PT1H'), whole.and($('country').in(['DE', 'US']))),
    'line, text in a dimension': within(
      byTime('PT1H'),
      whole.and($('page').contains(r('Page 1'), 'ignoreCase')),
    ),
    'line, uniques and quotients': uniques(ply().apply('main', main.filter(whole))).apply(
      'SPLIT',
      uniques(main.split(bucket('PT1H'), '__time')).sort('$__time', 'ascending'),
    ),
    'lines by country': within(byDimension('country', 3).apply('SPLIT', byTime('PT1H'))),
    'bars by page': within(byDimension('page', 50)),
    'bars by country, by name': within(
      measured(main.split('$country', 'country')).sort('$country', 'ascending').limit(50),
    ),
    'bars by range of numbers': within(
      measured(main.split($('user').numberBucket(100), 'user'))
        .sort('$user', 'ascending')
        .limit(5000),
    ),
    'table by day': within(byTime('P1D').limit(100)),
    'table by hour, largest first': within(
      measured(main.split(bucket('PT1H'), '__time'))
        .sort('$added', 'descending')
        .limit(25),
    ),
    'table by day and country': within(byTime('P1D').apply('SPLIT', byDimension('country', 5))),
    'heat map': within(byDimension('country', 2).apply('SPLIT', byDimension('robot', 5))),
    'grid by day and country': measured(flat).sort('$added', 'descending').limit(100),
    'line with the day before': compared(ply().apply('main', main.filter(now.or(before)))).apply(
      'SPLIT',
      compared(main.split(comparedTime, '__time')).sort('$__time', 'ascending'),
    ),
    'newest time': ply().apply('maxTime', main.max('$__time')),
    'values of a filter': main
      .filter(whole)
      .split('$page', 'page')
      .apply('count', main.sum('$cnt'))
      .sort('$count', 'descending')
      .limit(101),
    rows: main.filter(whole).limit(50),
  }
}
