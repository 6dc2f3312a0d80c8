import { findCondition } from '../../resources/meta/condition.ts';
import type { KubeObject } from '../../resources/meta/object.ts';

/** Whether the health checks of Flux and Argo CD find that an object has come to what it should be: it looked at its last change, and is Ready. */
export function isCurrent(object: KubeObject & { status?: Readonly<Record<string, unknown>> }): boolean {
  const { metadata, status = {} } = object;
  if (metadata.deletionTimestamp !== undefined) return false;
  if (object.kind === 'Namespace') return status.phase === 'Active';
  if (status.observedGeneration !== metadata.generation) return false;
  const is = (type: string) => findCondition(object, type);
  if (is('Stalled')?.status === 'True' || is('Reconciling')?.status === 'True') return false;
  return is('Ready')?.status === 'True' && is('Ready')?.observedGeneration === metadata.generation;
}
