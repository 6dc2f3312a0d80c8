import { LAST_APPLIED } from '../../resources/meta/last-applied.ts';
import { isObject, type JsonObject, jsonEqual, type KubeObject } from '../../resources/meta/object.ts';

/** One field that changes; `undefined` is one that is not there. */
export interface FieldChange {
  /** As kubectl explain writes it, with items of lists by name: `spec.schedules[office].replicas`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What of an object a change alters, by path: what people write, without its status and what the server keeps about it. */
export function fieldChanges(before: KubeObject, after: KubeObject): FieldChange[] {
  const changes = [...compare(written(before), written(after), '')];
  return before.kind === 'Secret' ? changes.map(masked) : changes;
}

/** What is in a Secret is not told, only that it changes. */
function masked(change: FieldChange): FieldChange {
  if (!/^(data|stringData)\b/.test(change.path)) return change;
  const hide = (value: unknown, how: string) => (value === undefined ? undefined : `*** (${how})`);
  return { path: change.path, before: hide(change.before, 'before'), after: hide(change.after, 'after') };
}

function written({ metadata, status: _, ...rest }: KubeObject & { status?: unknown }): JsonObject {
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  const { [LAST_APPLIED]: __, ...notes } = annotations ?? {};
  return { ...rest, metadata: { labels, annotations: notes, finalizers, ownerReferences } };
}

function* compare(before: unknown, after: unknown, path: string): Generator<FieldChange> {
  if (isEmpty(before) && isEmpty(after)) return;
  if (jsonEqual(before, after)) return;
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* compare(before[name], after[name], path === '' ? name : `${path}${step(name)}`);
    return;
  }
  const [was, is] = [byName(before), byName(after)];
  if (was === undefined || is === undefined) yield { path, before, after };
  else
    for (const name of new Set([...was.keys(), ...is.keys()]))
      yield* compare(was.get(name), is.get(name), `${path}[${name}]`);
}

/** Labels and the like have dots in their names. */
function step(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? `.${name}` : `["${name}"]`;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (isObject(value) && Object.values(value).every((each) => each === undefined));
}

/** The items of a list whose names tell them apart. */
function byName(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const items = new Map<string, unknown>();
  for (const item of value) if (isObject(item) && typeof item.name === 'string') items.set(item.name, item);
  return items.size === value.length ? items : undefined;
}
