import { gunzipSync } from 'node:zlib';
import { isObject } from '../../resources/meta/object.ts';
import type { WireAnswer } from './tls-line.ts';

/** Answers above 499 that a request alone may bring about, each known by what its Status says: a revision that is not there yet; a stream to a host
 * that is not connected. */
const EXPECTED_5XX: Readonly<Record<number, RegExp>> = {
  503: /is not connected/,
  504: /Too large resource version/,
};

/** What is wrong with an answer, or undefined. */
export function faultOf(answer: WireAnswer): string | undefined {
  const { status, headers, open } = answer;
  const type = headers.get('content-type') ?? '';
  if (status >= 500 && EXPECTED_5XX[status]?.test(textOf(answer)) !== true)
    return `${status}: ${textOf(answer).slice(0, 600)}`;
  if (open || answer.body.length === 0 || type !== 'application/json') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(textOf(answer));
  } catch (error) {
    return `its JSON is none (${String(error)}): ${textOf(answer).slice(0, 300)}`;
  }
  if (status < 400) return undefined;
  if (isObject(value) && value.kind === 'Status' && value.code === status && typeof value.message === 'string')
    return undefined;
  return `no Status: ${textOf(answer).slice(0, 300)}`;
}

function textOf({ headers, body }: WireAnswer): string {
  return (headers.get('content-encoding') === 'gzip' ? gunzipSync(body) : body).toString('utf8');
}
