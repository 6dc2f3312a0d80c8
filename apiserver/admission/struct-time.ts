import { goQuote } from './go-format.ts';

const SECONDS = '2006-01-02T15:04:05Z07:00';
const MICROSECONDS = '2006-01-02T15:04:05.000000Z07:00';
const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/**
 * An instant in the one form it is kept in, UTC: to the second, where a fraction is dropped; or to the microsecond, where exactly six digits
 * must be given (k8s.io/apimachinery, Time and MicroTime).
 */
export function canonicalTime(text: string, micro: boolean): { readonly text: string } | { readonly problem: string } {
  const problem = `parsing time ${goQuote(text)} as "${micro ? MICROSECONDS : SECONDS}": cannot parse ${goQuote(text)}`;
  const match = RFC3339.exec(text);
  if (match === null) return { problem };
  const [, year, month, day, hour, minute, second, fraction = '', zone] = match;
  if (micro && fraction.length !== 6) return { problem };
  const whole = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const local = new Date(`${whole}Z`);
  // A date that does not exist is read as another one.
  if (Number.isNaN(local.getTime()) || local.toISOString() !== `${whole}.000Z`) return { problem };
  const instant = new Date(`${whole}${zone}`);
  if (Number.isNaN(instant.getTime())) return { problem };
  const seconds = instant.toISOString().slice(0, 19);
  return { text: micro ? `${seconds}.${fraction}Z` : `${seconds}Z` };
}
