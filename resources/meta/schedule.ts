import { Cron } from 'croner';
import type { Cause } from './api-error.ts';
import { parseDuration } from './duration.ts';
import { invalidField } from './field-causes.ts';
import { jsonEqual } from './object.ts';
import type { Schedule } from './schedule-schema.ts';

const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;

/** What all crons understand the same way: numbers, names, steps, ranges and lists. */
const FIELD = /^[0-9A-Za-z*,/-]+$/;
const NAMES = /^(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT)$/i;

/** An instant from which every date that there ever is comes within eight years. */
const LEAP_YEAR_MS = Date.UTC(2024, 0, 1);

/** Whether a schedule holds at an instant, and until when that is so at least; absent means for good. */
export interface Window {
  readonly holds: boolean;
  readonly untilMs?: number;
}

/**
 * Where `nowMs` lies among the windows of a schedule. A window is half-open and lasts its duration in real time, whatever clocks are set to meanwhile. A
 * start at a time that a change of the clocks leaves out comes with the change; one that comes twice counts the first time, but for wildcards and steps,
 * which go by the clock. Throws where the schedule is not one (`scheduleCauses`).
 */
export function windowAt(schedule: Schedule, nowMs: number): Window {
  const lasts = parseDuration(schedule.duration);
  if (lasts === undefined) throw new RangeError(`${schedule.duration} is not a duration`);
  const startMs = nextStartMs(schedule.start, schedule.timeZone, nowMs - lasts);
  if (startMs === undefined) return { holds: false };
  return startMs <= nowMs ? { holds: true, untilMs: startMs + lasts } : { holds: false, untilMs: startMs };
}

/** The first start after an instant. */
function nextStartMs(start: string, timeZone: string, afterMs: number): number | undefined {
  // Time in it is counted in seconds: what comes after the second that an instant lies in comes after the instant.
  const after = new Date(Math.floor(afterMs / 1000) * 1000);
  return cronOf(start, timeZone).nextRun(after)?.getTime();
}

function cronOf(start: string, timezone: string): Cron {
  return new Cron(start, { mode: '5-part', timezone, fixedTimeRule: 'no-wildcard' });
}

/** What is wrong with schedules that their schema finds right. One that is as it was is not judged again. */
export function scheduleCauses(
  schedules: readonly Schedule[] | undefined,
  previous: readonly Schedule[] | undefined,
): readonly Cause[] {
  return (schedules ?? []).flatMap((schedule, i) => {
    const before = previous?.find(({ name }) => name === schedule.name);
    return jsonEqual(schedule, before) ? [] : causesOf(schedule, `spec.schedules[${i}]`);
  });
}

function causesOf({ start, duration, timeZone }: Schedule, path: string): readonly Cause[] {
  const zoned = isTimeZone(timeZone);
  const wrongStart = startProblem(start, zoned ? timeZone : 'UTC');
  const lasts = parseDuration(duration) ?? 0;
  return [
    ...(wrongStart === undefined ? [] : [invalidField(`${path}.start`, start, wrongStart)]),
    ...(lasts >= MINUTE_MS && lasts <= WEEK_MS
      ? []
      : [invalidField(`${path}.duration`, duration, 'must be between 1m and 168h')]),
    ...(zoned
      ? []
      : [invalidField(`${path}.timeZone`, timeZone, 'must be a name of the IANA database, such as Europe/Berlin')]),
  ];
}

/** What is wrong with a cron expression, if anything. */
function startProblem(start: string, timeZone: string): string | undefined {
  const fields = start.trim().split(/\s+/);
  if (fields.length !== 5)
    return `must be a cron expression of five fields (minute, hour, day of month, month, day of week), has ${fields.length}`;
  const odd = fields.find(
    (field) => !FIELD.test(field) || field.match(/[A-Za-z]+/g)?.some((word) => !NAMES.test(word)),
  );
  if (odd !== undefined)
    return `${odd} is not a field of a cron expression: numbers, names such as MON or JAN, and * , - / are`;
  try {
    return nextStartMs(start, timeZone, LEAP_YEAR_MS) === undefined ? 'there is no such day' : undefined;
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

function isTimeZone(name: string): boolean {
  // Offsets such as +02:00 are taken for zones too, and know of no summer.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
