import { jsonEqual, type KubeObject, valueAt, withValueAt } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { writesAs } from '../auth/identity.ts';
import type { WriteFrame } from './next-object.ts';
import { notWriter, writtenFields } from './writers.ts';

/**
 * What of a status has a writer of its own stays as it is when others write the status: absent in their write it is kept, changed it is a 403
 * naming the field. Its writer, and an operator, may leave it out to have it gone.
 */
export function keepWritten(frame: WriteFrame, before: KubeObject, draft: KubeObject): KubeObject {
  const { schema } = frame.served.kind;
  let kept = draft;
  for (const { path, writers } of writtenFields(schema)) {
    if (path[0] !== 'status') continue;
    const [had, wanted] = [valueAt(before, path), valueAt(draft, path)];
    if (jsonEqual(had, wanted) || writers.some((writer) => writesAs(frame.identity, writer))) continue;
    if (wanted !== undefined) throw notWriter(frame, draft.metadata.name, path.join('.'), writers);
    kept = withValueAt(kept, path, had);
  }
  const conditions = schema.properties?.status?.properties?.conditions;
  return conditions === undefined ? kept : keepConditions(frame, before, kept, conditions);
}

const CONDITIONS = ['status', 'conditions'];

function keepConditions(frame: WriteFrame, before: KubeObject, draft: KubeObject, schema: Schema): KubeObject {
  let kept = draft;
  for (const [type, writers] of Object.entries(schema['x-coppice-condition-writers'] ?? {})) {
    const [had, wanted] = [conditionOf(before, type), conditionOf(draft, type)];
    if (jsonEqual(had, wanted) || writers.some((writer) => writesAs(frame.identity, writer))) continue;
    if (wanted !== undefined) {
      throw notWriter(frame, draft.metadata.name, `status.conditions[${type}]`, writers);
    }
    kept = withValueAt(kept, CONDITIONS, [...conditionsOf(kept), had]);
  }
  return kept;
}

function conditionOf(object: KubeObject, type: string): unknown {
  return conditionsOf(object).find((condition) => valueAt(condition, ['type']) === type);
}

function conditionsOf(object: KubeObject): readonly unknown[] {
  const conditions = valueAt(object, CONDITIONS);
  return Array.isArray(conditions) ? conditions : [];
}
