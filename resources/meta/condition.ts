import { rfc3339 } from '../ambient/clock.ts';
import type { KubeObject } from './object.ts';

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
  lastTransitionTime: string;
}

interface HasConditions extends KubeObject {
  status?: { conditions?: Condition[] };
}

export function findCondition(object: HasConditions, type: string): Condition | undefined {
  return object.status?.conditions?.find((c) => c.type === type);
}

export function isTrue(object: HasConditions, type: string): boolean {
  return findCondition(object, type)?.status === 'True';
}

/**
 * The condition list with these set: each stamped with the object's generation, `lastTransitionTime` kept unless the status flips,
 * sorted by type so that diffs are calm. Other owners' conditions are untouched.
 */
export function setConditions(
  object: HasConditions,
  nowMs: number,
  set: readonly Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>[],
): Condition[] {
  const current = object.status?.conditions ?? [];
  const byType = new Map(current.map((c) => [c.type, c]));
  for (const wanted of set) {
    const before = byType.get(wanted.type);
    byType.set(wanted.type, {
      ...wanted,
      ...(object.metadata.generation === undefined ? {} : { observedGeneration: object.metadata.generation }),
      lastTransitionTime: before?.status === wanted.status ? before.lastTransitionTime : rfc3339(nowMs),
    });
  }
  return [...byType.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
}
