import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import type { Member } from '../apply/apply-set.ts';
import type { PlacedObject } from '../apply/placed.ts';
import { prune } from '../apply/prune.ts';
import { type ApplyManner, sendApply, standing } from '../apply/send.ts';
import type { Session } from '../session.ts';
import { type FieldChange, fieldChanges } from './field-changes.ts';

export type Action = 'created' | 'configured' | 'unchanged' | 'deleted' | 'refused';

/** What would come of one object. */
export interface PlannedObject {
  readonly about: PlacedObject | Member;
  readonly action: Action;
  readonly before?: KubeObject;
  readonly after?: KubeObject;
  /** What of it would change, where it stands and stays. */
  readonly fields: readonly FieldChange[];
  /** Why the server would turn it down. */
  readonly error?: ApiError;
}

/** Where what has no namespace yet is judged. */
const STAND_IN = 'default';

/**
 * Asks the server what would come of applying objects in their order, and changes nothing. What an object needs that those before it bring is taken to be
 * there: one in a namespace that is made first is judged in another namespace.
 */
export async function planObjects(
  session: Session,
  objects: readonly PlacedObject[],
  manner: Omit<ApplyManner, 'dryRun'>,
): Promise<PlannedObject[]> {
  const planned: PlannedObject[] = [];
  const brought = new Set<string>();
  for (const placed of objects) {
    const one = await planOne(session, placed, { ...manner, dryRun: true }, brought);
    planned.push(one);
    if (one.action === 'created' && bringsNamespace(placed)) brought.add(placed.name);
  }
  return planned;
}

/** Asks the server what would come of deleting objects. */
export async function planPrune(session: Session, members: readonly Member[]): Promise<PlannedObject[]> {
  return (await prune(session, members, true)).map(({ member, error }) =>
    error === undefined
      ? { about: member, action: 'deleted', before: member.object, fields: [] }
      : { about: member, action: 'refused', fields: [], error },
  );
}

/** A Tenant makes the namespace it lives in. */
function bringsNamespace({ resource }: PlacedObject): boolean {
  return (
    (resource.group === '' && resource.kind === 'Namespace') ||
    (resource.group === 'coppice.dev' && resource.kind === 'Tenant')
  );
}

async function planOne(
  session: Session,
  placed: PlacedObject,
  manner: ApplyManner,
  brought: ReadonlySet<string>,
): Promise<PlannedObject> {
  try {
    const before = await standing(session, placed);
    const after = await asked(session, placed, manner, brought);
    if (before === undefined) return { about: placed, action: 'created', after, fields: [] };
    const fields = fieldChanges(before, after);
    return { about: placed, action: fields.length === 0 ? 'unchanged' : 'configured', before, after, fields };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { about: placed, action: 'refused', fields: [], error };
  }
}

async function asked(
  session: Session,
  placed: PlacedObject,
  manner: ApplyManner,
  brought: ReadonlySet<string>,
): Promise<KubeObject> {
  try {
    return (await sendApply(session, placed, manner)).object;
  } catch (error) {
    const { namespace = '' } = placed;
    const isAbsent = error instanceof ApiError && error.reason === 'NotFound' && error.details?.kind === 'namespaces';
    if (!isAbsent || !brought.has(namespace)) throw error;
    return elsewhere(session, placed, manner);
  }
}

/** The object as it would be in a namespace that is not there yet. */
async function elsewhere(session: Session, placed: PlacedObject, manner: ApplyManner): Promise<KubeObject> {
  try {
    const { object } = await sendApply(session, inNamespace(placed, STAND_IN), manner);
    return { ...object, metadata: { ...object.metadata, namespace: placed.namespace ?? '' } };
  } catch (error) {
    // Refusals that are about that namespace come after all that is wrong with the object itself.
    const causes = error instanceof ApiError ? (error.details?.causes ?? []).map(({ reason }) => reason) : [];
    if (!causes.includes('ReservedName')) throw error;
    return completed(placed.object as KubeObject & { spec?: JsonObject });
  }
}

/** With what the server would have filled in of how many there are. */
function completed({ spec, ...object }: KubeObject & { spec?: JsonObject }): KubeObject & { spec?: JsonObject } {
  if (object.kind !== 'LeaseSet' || spec === undefined) return { ...object, ...(spec === undefined ? {} : { spec }) };
  const schedules = Array.isArray(spec.schedules) ? spec.schedules : [];
  const zoned = schedules.map((schedule: unknown) =>
    isObject(schedule) ? { timeZone: 'UTC', ...schedule } : schedule,
  );
  return { ...object, spec: { replicas: 1, ...spec, ...(zoned.length === 0 ? {} : { schedules: zoned }) } };
}

function inNamespace(placed: PlacedObject, namespace: string): PlacedObject {
  const metadata = isObject(placed.object.metadata) ? placed.object.metadata : {};
  return { ...placed, namespace, object: { ...placed.object, metadata: { ...metadata, namespace } } };
}
