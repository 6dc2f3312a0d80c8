import assert from 'node:assert/strict';
import fc from 'fast-check';
import { scheduleCauses } from '../../../resources/meta/schedule.ts';
import type { Schedule } from '../../../resources/meta/schedule-schema.ts';
import { wantedReplicas } from '../../../resources/meta/wanted-replicas.ts';

const BERLIN = 'Europe/Berlin';
const HOUR_MS = 3_600_000;

const aSchedule = (start: string, duration = '1h', timeZone = BERLIN, replicas = 5): Schedule => ({
  name: `${start} ${duration}`,
  start,
  duration,
  timeZone,
  replicas,
});

/** The windows of one schedule between two instants, found as a clock finds them: by going from each change to the next. */
function windows(schedule: Schedule, from: string, to: string): string[] {
  const found: string[] = [];
  const spec = { replicas: 0, schedules: [schedule] };
  let nowMs = Date.parse(from);
  let began: number | undefined;
  for (let looks = 0; nowMs < Date.parse(to); looks++) {
    assert.ok(looks < 1000, 'it looks only when there may be a change');
    const { replicas, until = Number.POSITIVE_INFINITY } = wantedReplicas(spec, nowMs);
    assert.ok(until > nowMs, 'the next look is later');
    if (replicas > 0) began ??= nowMs;
    else if (began !== undefined) {
      found.push(`${said(began)} - ${said(nowMs)}`);
      began = undefined;
    }
    nowMs = until;
  }
  return found;
}

const said = (ms: number) => new Date(ms).toISOString().slice(5, 16);

describe('how many replicas are wanted', () => {
  it('is spec.replicas where no schedule holds, and then for good where there is none', () => {
    assert.deepEqual(wantedReplicas({ replicas: 3 }, 0), { replicas: 3 });
    assert.deepEqual(wantedReplicas({ replicas: 3, schedules: [] }, 0), { replicas: 3 });
  });

  it('is warm on Monday at eight, in winter and in summer', () => {
    const monday = aSchedule('0 8 * * 1', '11h');
    assert.deepEqual(windows(monday, '2026-11-28T00:00:00Z', '2026-12-08T00:00:00Z'), [
      '11-30T07:00 - 11-30T18:00',
      '12-07T07:00 - 12-07T18:00',
    ]);
    assert.deepEqual(windows(monday, '2026-07-01T00:00:00Z', '2026-07-08T00:00:00Z'), ['07-06T06:00 - 07-06T17:00']);
  });

  it('changes at the instant, not a millisecond before or after', () => {
    const spec = { replicas: 1, schedules: [aSchedule('0 8 * * 1', '1h')] };
    const [start, end] = [Date.parse('2026-11-30T07:00:00Z'), Date.parse('2026-11-30T08:00:00Z')];
    assert.deepEqual(wantedReplicas(spec, start - 1), { replicas: 1, until: start });
    assert.deepEqual(wantedReplicas(spec, start), { replicas: 5, until: end });
    assert.deepEqual(wantedReplicas(spec, end - 1), { replicas: 5, until: end });
    assert.equal(wantedReplicas(spec, end).replicas, 1);
  });

  it('lets the largest count where several hold, even one that is smaller than spec.replicas', () => {
    const day = { ...aSchedule('0 8 * * *', '10h', 'UTC', 4), name: 'day' };
    const noon = { ...aSchedule('0 12 * * *', '1h', 'UTC', 9), name: 'noon' };
    const at = (hour: number, replicas = 20) =>
      wantedReplicas({ replicas, schedules: [day, noon] }, Date.UTC(2026, 5, 1, hour));
    assert.deepEqual(
      [at(7), at(8), at(12), at(13), at(18)].map((wanted) => wanted.replicas),
      [20, 4, 9, 4, 20],
    );
    assert.equal(at(12).until, Date.UTC(2026, 5, 1, 13));
    assert.equal(
      wantedReplicas({ replicas: 2, schedules: [{ ...day, replicas: 0 }] }, Date.UTC(2026, 5, 1, 9)).replicas,
      0,
    );
  });

  it('begins with the change of the clocks where that leaves a start out', () => {
    assert.deepEqual(windows(aSchedule('30 2 * * *'), '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'), [
      '03-29T01:00 - 03-29T02:00',
      '03-30T00:30 - 03-30T01:30',
    ]);
    // As one of several, too.
    assert.deepEqual(windows(aSchedule('30 2,14 * * 0'), '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'), [
      '03-29T01:00 - 03-29T02:00',
      '03-29T12:30 - 03-29T13:30',
    ]);
  });

  it('begins once where a start comes twice', () => {
    assert.deepEqual(windows(aSchedule('30 2 * * *', '30m'), '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'), [
      '10-25T00:30 - 10-25T01:00',
      '10-26T01:30 - 10-26T02:00',
    ]);
  });

  it('lasts in real time over both changes of the clocks', () => {
    assert.deepEqual(windows(aSchedule('0 0 * * 0', '24h'), '2026-03-28T12:00:00Z', '2026-03-31T00:00:00Z'), [
      '03-28T23:00 - 03-29T23:00',
    ]);
    assert.deepEqual(windows(aSchedule('0 0 * * 0', '24h'), '2026-10-24T12:00:00Z', '2026-10-27T00:00:00Z'), [
      '10-24T22:00 - 10-25T22:00',
    ]);
  });

  it('knows the ends of months, and leap years', () => {
    assert.deepEqual(windows(aSchedule('0 0 31 * *', '1h', 'UTC'), '2026-01-15T00:00:00Z', '2026-06-15T00:00:00Z'), [
      '01-31T00:00 - 01-31T01:00',
      '03-31T00:00 - 03-31T01:00',
      '05-31T00:00 - 05-31T01:00',
    ]);
    const { until = 0 } = wantedReplicas(
      { replicas: 0, schedules: [aSchedule('0 0 29 2 *', '1h', 'UTC')] },
      Date.parse('2096-03-01T00:00:00Z'),
    );
    assert.equal(new Date(until).toISOString(), '2104-02-29T00:00:00.000Z');
  });

  it('goes over midnight and months, and is the same for who begins in the middle', () => {
    const night = aSchedule('0 22 30 11 *', '48h', 'UTC');
    assert.deepEqual(windows(night, '2026-11-29T00:00:00Z', '2026-12-05T00:00:00Z'), ['11-30T22:00 - 12-02T22:00']);
    for (const inside of ['2026-11-30T23:59:59Z', '2026-12-01T00:00:00Z', '2026-12-02T21:59:59Z'])
      assert.deepEqual(wantedReplicas({ replicas: 0, schedules: [night] }, Date.parse(inside)), {
        replicas: 5,
        until: Date.parse('2026-12-02T22:00:00Z'),
      });
  });

  it('goes on where a window begins before the one before it is over', () => {
    assert.deepEqual(windows(aSchedule('0 8 * * 1-5', '48h', 'UTC'), '2026-11-29T12:00:00Z', '2026-12-07T00:00:00Z'), [
      '11-30T08:00 - 12-06T08:00',
    ]);
    // Every minute, for a week each: it never ends, and it is looked at no more than once a minute.
    const { replicas, until = 0 } = wantedReplicas({ replicas: 0, schedules: [aSchedule('* * * * *', '168h')] }, 1e12);
    assert.equal(replicas, 5);
    assert.ok(until > 1e12 && until <= 1e12 + 60_000);
  });

  it('is what a clock on the wall says at every minute', () => {
    const zones = [BERLIN, 'UTC', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'America/St_Johns'];
    const minutes = fc.integer({ min: 0, max: 59 });
    const hours = fc.oneof(fc.constant('*'), fc.integer({ min: 4, max: 23 }).map(String));
    const days = fc.constantFrom('*', '0', '1-5', '6,0', 'MON-WED');
    const instants = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
    fc.assert(
      fc.property(fc.constantFrom(...zones), minutes, hours, days, instants, (zone, minute, hour, day, nowMs) => {
        const schedule = aSchedule(`${minute} ${hour} * * ${day}`, '2h30m', zone);
        const { replicas } = wantedReplicas({ replicas: 0, schedules: [schedule] }, nowMs);
        assert.equal(replicas === 5, beganWithin(2.5 * HOUR_MS, nowMs, zone, { minute, hour, day }));
      }),
      { numRuns: 300 },
    );
  });

  it('holds no longer than it says, and nothing changes before', () => {
    const starts = fc.constantFrom(
      '0 8 * * 1',
      '30 2 * * *',
      '*/20 * * * *',
      '0 0 1 * *',
      '15 1-3 * * SUN',
      '0 0 29 2 *',
    );
    const some = fc.uniqueArray(
      fc.record({ start: starts, hours: fc.integer({ min: 1, max: 168 }), replicas: fc.integer({ min: 0, max: 9 }) }),
      { minLength: 1, maxLength: 3, selector: ({ start }) => start },
    );
    const instants = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
    fc.assert(
      fc.property(some, instants, fc.double({ min: 0, max: 1, noNaN: true }), (of, nowMs, part) => {
        const schedules = of.map(({ start, hours, replicas }) => aSchedule(start, `${hours}h`, BERLIN, replicas));
        const { replicas, until = 0 } = wantedReplicas({ replicas: 1, schedules }, nowMs);
        assert.ok(until > nowMs);
        const between = nowMs + Math.floor((until - 1 - nowMs) * part);
        assert.equal(wantedReplicas({ replicas: 1, schedules }, between).replicas, replicas);
      }),
      { numRuns: 300 },
    );
  });
});

/** By the definition: some minute of the last ones is one that the fields name. */
function beganWithin(
  lastsMs: number,
  nowMs: number,
  timeZone: string,
  of: { readonly minute: number; readonly hour: string; readonly day: string },
): boolean {
  const wall = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: 'numeric',
    minute: 'numeric',
    weekday: 'short',
    hourCycle: 'h23',
  });
  const names = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  const allowed: Record<string, readonly number[]> = {
    '*': [0, 1, 2, 3, 4, 5, 6],
    '0': [0],
    '1-5': [1, 2, 3, 4, 5],
    '6,0': [6, 0],
    'MON-WED': [1, 2, 3],
  };
  for (let at = Math.floor(nowMs / 60_000) * 60_000; at > nowMs - lastsMs; at -= 60_000) {
    const parts = new Map(wall.formatToParts(at).map(({ type, value }) => [type, value]));
    if (Number(parts.get('minute')) !== of.minute) continue;
    if (of.hour !== '*' && Number(parts.get('hour')) !== Number(of.hour)) continue;
    if (allowed[of.day]?.includes(names.indexOf(parts.get('weekday') ?? ''))) return true;
  }
  return false;
}

describe('what may be written of a schedule', () => {
  const judged = (over: Partial<Schedule>) =>
    scheduleCauses([{ ...aSchedule('0 8 * * 1'), ...over }], undefined).map(
      ({ field, message }) => `${field} ${message}`,
    );

  it('is what cron has in common everywhere', () => {
    for (const start of [
      '* * * * *',
      '30 7 * * 1-5',
      '0 8 1,15 JAN-jun mon',
      '*/15 8-18/2 * * *',
      '0 0 29 2 *',
      '0 0 * * 7',
    ])
      assert.deepEqual(judged({ start }), [], start);
    for (const timeZone of ['UTC', BERLIN, 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])
      assert.deepEqual(judged({ timeZone }), [], timeZone);
    for (const duration of ['1m', '60s', '168h', '11h30m']) assert.deepEqual(judged({ duration }), [], duration);
  });

  it('names the field and the value that is wrong', () => {
    assert.deepEqual(judged({ start: '0 0 8 * * 1' }), [
      'spec.schedules[0].start Invalid value: "0 0 8 * * 1": must be a cron expression of five fields (minute, hour, day of month, month, day of week), has 6',
    ]);
    assert.deepEqual(judged({ duration: '59s' }), [
      'spec.schedules[0].duration Invalid value: "59s": must be between 1m and 168h',
    ]);
    assert.equal(judged({ duration: '168h1s' }).length, 1);
    assert.deepEqual(judged({ timeZone: 'Europe/Nowhere' }), [
      'spec.schedules[0].timeZone Invalid value: "Europe/Nowhere": must be a name of the IANA database, such as Europe/Berlin',
    ]);
    assert.equal(judged({ timeZone: '+02:00' }).length, 1);
    assert.equal(judged({ start: 'x', duration: '1s', timeZone: '' }).length, 3);
  });

  it('has no start that is none, never comes or means another thing elsewhere', () => {
    const wrong = [
      ...[
        '60 0 * * *',
        '0 24 * * *',
        '0 0 0 * *',
        '0 0 32 * *',
        '0 0 * 13 *',
        '0 0 * * 8',
        '*/0 * * * *',
        '5-1 * * * *',
      ],
      ...['0 0 30 2 *', '0 0 31 4,6,9,11 *'],
      ...[
        '@daily',
        '@every 5m',
        '? 0 * * *',
        '0 0 L * *',
        '0 0 15W * *',
        '0 0 * * 1#2',
        '0 0 * * MONDAY',
        '0 0 * * FRIL',
        '+0 0 1 * 1',
      ],
      ...['1,,2 * * * *', '5/10 * * * *', '- - - - -', '/////////', '* * * *', '         '],
    ];
    for (const start of wrong) assert.equal(judged({ start }).length, 1, start);
  });

  it('is told of anything at all, in bounded time', () => {
    const field = fc.string({ unit: fc.constantFrom(...'0123456789*,-/LWMON? '), maxLength: 40 });
    fc.assert(
      fc.property(fc.array(field, { minLength: 5, maxLength: 5 }), (fields) => {
        const schedule = aSchedule(fields.join(' '));
        // What is found right can be used.
        if (scheduleCauses([schedule], undefined).length === 0)
          wantedReplicas({ replicas: 1, schedules: [schedule] }, Date.UTC(2026, 0, 1));
      }),
      { numRuns: 2000 },
    );
    // The most that is written in 200 characters.
    const longest = `${Array.from({ length: 60 }, (_, i) => i).join(',')} * 29 2 1`;
    assert.deepEqual(judged({ start: longest }), []);
  });

  it('is not judged again where it stays', () => {
    const old = aSchedule('0 0 30 2 *');
    assert.deepEqual(scheduleCauses([aSchedule('1 1 1 1 1'), old], [old]), []);
    assert.equal(scheduleCauses([{ ...old, replicas: 1 }], [old]).length, 1);
  });
});
