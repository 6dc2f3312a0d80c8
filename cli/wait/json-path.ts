import { isObject } from '../../resources/meta/object.ts';
import { Failure } from '../failure.ts';

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'every' }
  | { readonly kind: 'filter'; readonly path: readonly Step[]; readonly value: string };

/**
 * A JSONPath as kubectl writes them in `wait`: `{.status.phase}`, `.status.addresses[0]`, `['odd.key']`, `[*]`,
 * `[?(@.type=="Ready")]`. Answers the values it finds, none when it leads nowhere.
 */
export function compileJsonPath(text: string): (value: unknown) => unknown[] {
  const inner = /^\{(.*)\}$/.exec(text.trim())?.[1] ?? text.trim();
  const steps = parse(inner.replace(/^\$/, ''), text);
  return (value) => walk([value], steps);
}

const STEP =
  /^(?:\.?\['([^']*)'\]|\.?\["([^"]*)"\]|\.?\[(-?[0-9]+)\]|\.?\[(\*)\]|\.(\*)|\.?\[\?\(@((?:\.[^.[\]()=\s]+)+)\s*==\s*(?:"([^"]*)"|'([^']*)'|([^)'"\s]+))\s*\)\]|\.((?:\\.|[^.[\]\\])+))/;

function parse(path: string, whole: string): Step[] {
  const steps: Step[] = [];
  let rest = path.startsWith('.') || path.startsWith('[') ? path : `.${path}`;
  while (rest !== '') {
    const match = STEP.exec(rest);
    if (match === null) throw new Failure(`jsonpath ${whole}: "${rest}" is not understood`);
    const [all, single, double, index, star, dotStar, filterPath, eq1, eq2, eq3, field] = match;
    if (single !== undefined || double !== undefined) steps.push({ kind: 'field', name: single ?? double ?? '' });
    else if (index !== undefined) steps.push({ kind: 'index', index: Number(index) });
    else if (star !== undefined || dotStar !== undefined) steps.push({ kind: 'every' });
    else if (filterPath !== undefined)
      steps.push({ kind: 'filter', path: parse(filterPath, whole), value: eq1 ?? eq2 ?? eq3 ?? '' });
    else steps.push({ kind: 'field', name: (field ?? '').replace(/\\(.)/g, '$1') });
    rest = rest.slice(all.length);
  }
  if (steps.length === 0) throw new Failure(`jsonpath ${whole} names nothing`);
  return steps;
}

function walk(values: readonly unknown[], steps: readonly Step[]): unknown[] {
  return steps.reduce<unknown[]>((at, step) => at.flatMap((value) => follow(value, step)), [...values]);
}

function follow(value: unknown, step: Step): unknown[] {
  const list = Array.isArray(value) ? (value as unknown[]) : undefined;
  switch (step.kind) {
    case 'field':
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case 'index': {
      const item = list?.at(step.index);
      return item === undefined ? [] : [item];
    }
    case 'every':
      return list ?? (isObject(value) ? Object.values(value) : []);
    case 'filter':
      return (list ?? []).filter((item) => walk([item], step.path).some((found) => asText(found) === step.value));
  }
}

/** How a value compares with what was written on the command line. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
