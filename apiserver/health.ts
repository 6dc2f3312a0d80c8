import { text } from './requests/respond.ts';
import type { ServerResponse } from './requests/server-request.ts';

/** One thing that must hold for a server to be well. */
export interface HealthCheck {
  readonly name: string;
  /** Why it does not hold, or undefined when it does. */
  failure(): string | undefined;
  /** What is worth a look though it holds; shown to who asks for every check. */
  warning?(): string | undefined;
}

/**
 * What `/healthz`, `/livez` or `/readyz` (the name) says of its checks, or of one of them: `ok`, or 503 with every check told. `exclude`
 * leaves checks out, `verbose` tells of each. Undefined when there is no such check.
 */
export function health(
  name: string,
  checks: readonly HealthCheck[],
  one: string | undefined,
  query: URLSearchParams,
): ServerResponse | undefined {
  if (one !== undefined) {
    const check = checks.find((each) => each.name === one);
    return check === undefined ? undefined : answerOf(check.failure());
  }
  const excluded = new Set(query.getAll('exclude'));
  const failed = checks.some((check) => !excluded.has(check.name) && check.failure() !== undefined);
  if (!failed && !query.has('verbose')) return text(200, 'ok');
  const lines = [
    ...checks.map((check) => lineOf(check, excluded.has(check.name))),
    ...unmatched(checks, excluded),
    `${name} check ${failed ? 'failed' : 'passed'}`,
  ];
  return text(failed ? 503 : 200, lines.map((line) => `${line}\n`).join(''));
}

const answerOf = (why: string | undefined): ServerResponse =>
  why === undefined ? text(200, 'ok') : text(503, `not ready: ${why}`);

function lineOf(check: HealthCheck, excluded: boolean): string {
  if (excluded) return `[+]${check.name} excluded: ok`;
  const why = check.failure();
  if (why !== undefined) return `[-]${check.name} failed: ${why}`;
  const warning = check.warning?.();
  return warning === undefined ? `[+]${check.name} ok` : `[!]${check.name} ok, but ${warning}`;
}

function unmatched(checks: readonly HealthCheck[], excluded: ReadonlySet<string>): readonly string[] {
  const none = [...excluded].filter((name) => checks.every((check) => check.name !== name)).sort();
  if (none.length === 0) return [];
  const names = none.map((name) => JSON.stringify(name)).join(', ');
  return [`warn: some health checks cannot be excluded: no matches for ${names}`];
}
