import { dumps, type Fields, fieldsOf, same } from './exact-json.ts';
import { sortedByText } from './present.ts';
import type { WireCase } from './wire-case.ts';

export interface Verdict {
  readonly exact: boolean;
  /** The same but for wording. */
  readonly near: boolean;
}

const codeOf = (value: unknown): number => {
  const code = fieldsOf(value)?.code;
  return typeof code === 'number' ? code : 0;
};

/** Whether a case showed what it wants. Where the real server fell over with a 500, any refusal will do. */
export function verdictOn(wireCase: WireCase, got: readonly unknown[]): Verdict {
  const want = wireCase.steps.map((step) => step.want);
  const onlyCode = wireCase.wording === false;
  const near = want.every((step, i) => {
    if (codeOf(step) === 500 && codeOf(got[i]) >= 400 && codeOf(got[i]) < 600) return true;
    return same(loose(step, onlyCode), loose(got[i], onlyCode));
  });
  return { near, exact: near && (onlyCode || want.every((step, i) => same(step, got[i]) || codeOf(step) === 500)) };
}

/** What is left when prose does not count. */
function loose(value: unknown, onlyCode: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => loose(item, onlyCode));
  const fields = fieldsOf(value);
  if (fields === undefined) return value;
  const code = codeOf(fields);
  if (onlyCode && code >= 300) return { code, reason: fieldsOf(fields.body)?.reason ?? null };
  const isFailure = fields.kind === 'Status' && (fields.status === 'Failure' || 'reason' in fields);
  const kept = isFailure ? withoutProse(fields) : fields;
  const out: Fields = Object.fromEntries(Object.entries(kept).map(([k, v]) => [k, loose(v, onlyCode)]));
  if (typeof out.body === 'string' && code >= 300) delete out.body;
  if (Array.isArray(out.warnings)) out.warnings = out.warnings.length;
  return out;
}

function withoutProse({ message: _, ...status }: Fields): Fields {
  const details = fieldsOf(status.details);
  if (details === undefined || !Array.isArray(details.causes)) return status;
  const causes = (details.causes as Fields[])
    .filter((cause) => cause.field !== '<nil>')
    .map(({ message: __, ...cause }) => cause);
  return { ...status, details: { ...details, causes: sortedByText(causes) } };
}

/** Where a case first differs by more than wording, or at all when `wordingToo`, for whoever reads the report. */
export function difference(
  { id, title, steps, wording }: WireCase,
  got: readonly unknown[],
  wordingToo = false,
): string {
  const [wanted, shown] = [steps.map((step) => step.want), got].map((all) =>
    wordingToo ? all : all.map((step) => loose(step, wording === false)),
  );
  const at = steps.findIndex((_, i) => !same(wanted?.[i], shown?.[i]));
  const { want: _, show: __, ...step } = steps[at] ?? {};
  const paths = [...differences(wanted?.[at], shown?.[at], '')].slice(0, 6);
  const lines = paths.map(
    ([path, a, b]) => `    ${path}\n      want ${dumps(a).slice(0, 400)}\n      got  ${dumps(b).slice(0, 400)}`,
  );
  return [`${id}: ${title}`, `  step ${at} ${dumps(step, false).slice(0, 300)}`, ...lines].join('\n');
}

function* differences(want: unknown, got: unknown, path: string): Iterable<readonly [string, unknown, unknown]> {
  if (same(want, got)) return;
  const [a, b] = [fieldsOf(want), fieldsOf(got)];
  if (a !== undefined && b !== undefined) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
      if (key in a && key in b) yield* differences(a[key], b[key], `${path}.${key}`);
      else yield [`${path}.${key}`, key in a ? a[key] : '(absent)', key in b ? b[key] : '(absent)'];
    }
  } else if (Array.isArray(want) && Array.isArray(got) && want.length === got.length) {
    for (const [i, item] of want.entries()) yield* differences(item, got[i], `${path}[${i}]`);
  } else {
    yield [path || '.', want, got];
  }
}
