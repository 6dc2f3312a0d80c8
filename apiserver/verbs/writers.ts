import { type ApiError, forbidden } from '../../resources/meta/api-error.ts';
import { COPPICE_GROUP } from '../../resources/meta/define-kind.ts';
import {
  isObject,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  valueAt,
  withValueAt,
} from '../../resources/meta/object.ts';
import { type Schema, writersOf } from '../../resources/meta/schema.ts';
import { applyDefaults } from '../admission/structural.ts';
import { roleOf, writesAs } from '../auth/identity.ts';
import type { WriteFrame } from './next-object.ts';

/**
 * Fields with a writer (design §2): absent in a write they are carried over; changed by anybody but their writer or an operator they are
 * a 403 naming the field.
 */
export function carryWritten(frame: WriteFrame, before: KubeObject | undefined, draft: KubeObject): KubeObject {
  const { kind } = frame.served;
  let carried = draft;
  for (const { path, writers } of writtenFields(kind.schema)) {
    const had = valueAt(before, path);
    const wanted = valueAt(draft, path);
    if (wanted === undefined) {
      if (had !== undefined && isObject(valueAt(draft, path.slice(0, -1)))) carried = withValueAt(carried, path, had);
      continue;
    }
    if (jsonEqual(had, wanted) || writers.some((writer) => writesAs(frame.identity, writer))) continue;
    throw notWriter(frame, draft.metadata.name, path.join('.'), writers);
  }
  return carried;
}

/** A nodelet makes its Host with an empty spec, and of other objects changes finalizers only: what it knows it says in status. */
export function checkHostWrite(frame: WriteFrame, before: KubeObject | undefined, draft: KubeObject): void {
  if (roleOf(frame.identity) !== 'host') return;
  const { kind } = frame.served;
  if (kind.group !== COPPICE_GROUP) return;
  const empty = applyDefaults<JsonObject>({}, kind.schema);
  const rest = ({ metadata: { finalizers: _, ...metadata }, ...object }: KubeObject) => ({ ...object, metadata });
  const same =
    before === undefined ? jsonEqual(draft.spec ?? {}, empty.spec ?? {}) : jsonEqual(rest(before), rest(draft));
  if (same) return;
  throw forbidden(kind, draft.metadata.name, `its spec is not written by "${frame.identity.user}"`, {
    reason: 'FieldWriter',
    message: 'a host writes finalizers and status only',
    field: 'spec',
  });
}

/** Finalizers under `coppice.dev/` belong to controllers, hosts and operators. */
export function checkFinalizers(frame: WriteFrame, before: KubeObject | undefined, draft: KubeObject): void {
  const role = roleOf(frame.identity);
  if (role !== undefined && role !== 'serviceaccount' && role !== 'owner') return;
  const ours = (object: KubeObject | undefined) =>
    (object?.metadata.finalizers ?? []).filter((f) => f.startsWith(`${COPPICE_GROUP}/`));
  if (jsonEqual(ours(before), ours(draft))) return;
  throw forbidden(
    frame.served.kind,
    draft.metadata.name,
    `finalizers under ${COPPICE_GROUP}/ are written by controllers`,
    {
      reason: 'FieldWriter',
      message: 'only controllers write these finalizers',
      field: 'metadata.finalizers',
    },
  );
}

/** 403 that names a field and who writes it. */
export function notWriter(frame: WriteFrame, name: string, field: string, writers: readonly string[]): ApiError {
  const { kind } = frame.served;
  const writer = writers.join(' or ');
  return forbidden(kind, name, `${field} is written by ${writer}, not by "${frame.identity.user}"`, {
    reason: 'FieldWriter',
    message: `only ${writer} writes this field`,
    field,
  });
}

interface WrittenField {
  readonly path: readonly string[];
  readonly writers: readonly string[];
}

const known = new WeakMap<Schema, readonly WrittenField[]>();

/** The fields of a schema that have a writer; lists and maps are not looked into. */
export function writtenFields(schema: Schema): readonly WrittenField[] {
  const kept = known.get(schema);
  if (kept !== undefined) return kept;
  const found = [...search(schema, [])];
  known.set(schema, found);
  return found;
}

function* search(schema: Schema, path: readonly string[]): Iterable<WrittenField> {
  const writers = writersOf(schema);
  if (writers.length > 0) {
    yield { path, writers };
    return;
  }
  for (const [name, child] of Object.entries(schema.properties ?? {})) yield* search(child, [...path, name]);
}
