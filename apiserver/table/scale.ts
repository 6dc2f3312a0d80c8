import { ApiError, invalid } from '../../resources/meta/api-error.ts';
import type { ScaleMapping } from '../../resources/meta/define-kind.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { isObject, type KubeObject, type ObjectMeta, valueAt } from '../../resources/meta/object.ts';

/** autoscaling/v1 Scale. `selector` is a label selector in its text form. */
export interface Scale {
  readonly kind: 'Scale';
  readonly apiVersion: 'autoscaling/v1';
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'resourceVersion' | 'creationTimestamp'>;
  readonly spec: { readonly replicas: number };
  readonly status: { readonly replicas: number; readonly selector?: string };
}

/**
 * The scale of an object. A status without replicas counts as 0, one without a selector has none.
 * Throws `InternalError` when the object holds no wanted number, as a Kubernetes server does.
 */
export function scaleOf(object: KubeObject, mapping: ScaleMapping): Scale {
  const replicas = numberAt(object, mapping.specReplicasPath);
  if (replicas === undefined) {
    throw new ApiError('InternalError', `the spec replicas field "${mapping.specReplicasPath}" does not exist`);
  }
  const selector =
    mapping.labelSelectorPath === undefined ? undefined : valueAt(object, fieldsOf(mapping.labelSelectorPath));
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { replicas },
    status: {
      replicas: numberAt(object, mapping.statusReplicasPath) ?? 0,
      ...(typeof selector === 'string' && selector !== '' ? { selector } : {}),
    },
  };
}

/** The object with another wanted number, and nothing else changed. */
export function withReplicas(object: KubeObject, mapping: ScaleMapping, replicas: number): KubeObject {
  const [first, ...rest] = fieldsOf(mapping.specReplicasPath);
  if (first === undefined) return object;
  return { ...object, [first]: placed(object[first], rest, replicas) };
}

function placed(value: unknown, path: readonly string[], replicas: number): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return replicas;
  const there = isObject(value) ? value : {};
  return { ...there, [first]: placed(there[first], rest, replicas) };
}

/** `.spec.replicas` → its field names. A mapping holds plain fields only. */
const fieldsOf = (path: string): readonly string[] => path.split('.').filter((field) => field !== '');

function numberAt(object: KubeObject, path: string): number | undefined {
  const value = valueAt(object, fieldsOf(path));
  return typeof value === 'number' ? value : undefined;
}

/** The number a Scale asks for; none is 0. Throws `Invalid` when it is no number of replicas. */
export function replicasOf(scale: unknown, name: string): number {
  const replicas = valueAt(scale, ['spec', 'replicas']) ?? 0;
  if (typeof replicas === 'number' && Number.isInteger(replicas) && replicas >= 0) return replicas;
  const message = `Invalid value: ${encodeJson(replicas)}: must be a whole number greater than or equal to 0`;
  throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [
    { reason: 'FieldValueInvalid', field: 'spec.replicas', message },
  ]);
}
