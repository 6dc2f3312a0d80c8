import { goJson } from './go-json.ts';
import { isObject, type JsonObject, valueAt } from './object.ts';

export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The object with what it says recorded in an annotation, byte for byte as `kubectl apply` records it: without the annotation itself, with
 * `annotations` there even when empty, ended by a newline. So kubectl and coppice can take turns.
 */
export function withLastApplied(object: JsonObject): JsonObject {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const { [LAST_APPLIED]: _, ...annotations } = isObject(metadata.annotations) ? metadata.annotations : {};
  const recorded = { ...object, metadata: { ...metadata, annotations } };
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: `${goJson(recorded)}\n` } },
  };
}

/** What was applied before; undefined when nothing was, or it cannot be read. */
export function lastApplied(object: unknown): JsonObject | undefined {
  const text = valueAt(object, ['metadata', 'annotations', LAST_APPLIED]);
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
