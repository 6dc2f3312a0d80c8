import { type Condition, setConditions } from '../meta/condition.ts';
import type { AdmissionContext } from '../meta/define-kind.ts';
import { jsonEqual, type KubeObject } from '../meta/object.ts';

type Decree = KubeObject & {
  spec: object;
  status?: { observedGeneration?: number; conditions?: Condition[] };
};

/** Admission of what is in force from the moment it is written: that is all its status has to tell, so no duty comes after it. */
export function inForce<T extends Decree>(draft: T, previous: T | undefined, { nowMs }: AdmissionContext): T {
  const generation = generationOf(draft, previous);
  const told = { ...draft, metadata: { ...draft.metadata, generation } };
  const ready = { type: 'Ready', status: 'True', reason: 'InForce', message: 'it is in force' } as const;
  const conditions = setConditions(told, nowMs, [ready]);
  return { ...draft, status: { ...draft.status, observedGeneration: generation, conditions } };
}

/** What the object is going to have: an update counts its generation up once admission is through. */
function generationOf(draft: KubeObject & { spec: object }, previous: typeof draft | undefined): number {
  const { generation = 1 } = draft.metadata;
  if (previous === undefined || generation !== previous.metadata.generation) return generation;
  return jsonEqual(draft.spec, previous.spec) ? generation : generation + 1;
}
