import { rfc3339 } from '../../resources/ambient/clock.ts';
import type { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import type { Condition } from '../../resources/meta/condition.ts';
import { acceptNames, type TakenNames } from './accepted-names.ts';
import { isEstablished } from './definition-kinds.ts';

/**
 * A definition with the status that follows from it and from the names others have. Established in the write that accepts its names, and for
 * good: a name that is refused later leaves the kind as it was.
 */
export function withStatus(
  definition: CustomResourceDefinition,
  taken: TakenNames,
  nowMs: number,
): CustomResourceDefinition {
  const { accepted, conflict } = acceptNames(definition, taken);
  const established = conflict === undefined || isEstablished(definition);
  const wanted: readonly Wanted[] = [
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict },
    established
      ? {
          type: 'Established',
          status: 'True',
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        }
      : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all of its names are free' },
    ...(definition.metadata.deletionTimestamp === undefined ? [] : [TERMINATING]),
  ];
  return {
    ...definition,
    status: {
      ...definition.status,
      acceptedNames: accepted,
      storedVersions: storedVersions(definition),
      conditions: conditionsOf(definition, wanted, nowMs),
    },
  };
}

type Wanted = Omit<Condition, 'lastTransitionTime'>;

const TERMINATING: Wanted = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'its objects are being deleted',
};

/** Whoever moves objects to a newer version takes the old one off the list; the one now stored in is always on it. */
function storedVersions({ spec, status }: CustomResourceDefinition): readonly string[] {
  const now = spec.versions.filter((version) => version.storage).map((version) => version.name);
  return [...new Set([...(status?.storedVersions ?? []), ...now])];
}

function conditionsOf({ status }: CustomResourceDefinition, wanted: readonly Wanted[], nowMs: number): Condition[] {
  const kept = (status?.conditions ?? []).filter(({ type }) => !wanted.some((one) => one.type === type));
  const made = wanted.map((condition) => {
    const before = status?.conditions?.find(({ type }) => type === condition.type);
    const since = before?.status === condition.status ? before.lastTransitionTime : rfc3339(nowMs);
    return { ...condition, lastTransitionTime: since };
  });
  return [...made, ...kept];
}
