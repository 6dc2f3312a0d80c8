import type { NewObject, WriteOptions } from '../../apiserver/client/client.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { LAST_APPLIED, lastApplied, withLastApplied } from '../../resources/meta/last-applied.ts';
import { isObject, type JsonObject, type KubeObject, type ObjectMeta } from '../../resources/meta/object.ts';
import { warn } from '../io.ts';
import type { Session } from '../session.ts';
import type { PlacedObject } from './placed.ts';
import { threeWayPatch } from './three-way.ts';

/** How objects are applied. */
export interface ApplyManner {
  /** The server checks everything and changes nothing. */
  readonly dryRun: boolean;
  readonly validate: string;
  /** The server merges, and refuses to alter what others own unless forced. */
  readonly serverSide: boolean;
  readonly force: boolean;
  readonly fieldManager: string;
}

/** Someone else may write between our reading and our patch. */
const ATTEMPTS = 5;

export type Outcome = 'created' | 'configured' | 'unchanged' | 'serverside-applied';

/** What came of one object. */
export interface Applied {
  readonly outcome: Outcome;
  readonly object: KubeObject;
  /** What stood before; not looked at where the server merges. */
  readonly before?: KubeObject;
}

/** Makes one object as it says. Throws the server's `ApiError`. */
export async function sendApply(session: Session, placed: PlacedObject, manner: ApplyManner): Promise<Applied> {
  return manner.serverSide ? mergedByServer(session, placed, manner) : mergedHere(session, placed, manner);
}

function writeOptions({ io }: Session, manner: ApplyManner): WriteOptions {
  return {
    fieldManager: manner.fieldManager,
    fieldValidation: VALIDATION[manner.validate] ?? 'Strict',
    dryRun: manner.dryRun,
    onWarning: (text: string) => warn(io, `Warning: ${text}`),
  };
}

const VALIDATION: Readonly<Record<string, 'Strict' | 'Warn' | 'Ignore'>> = {
  strict: 'Strict',
  true: 'Strict',
  warn: 'Warn',
  ignore: 'Ignore',
  false: 'Ignore',
};

async function mergedByServer(session: Session, placed: PlacedObject, manner: ApplyManner): Promise<Applied> {
  const { client, io } = session;
  const resource = client.resource<KubeObject>(placed.resource, placed.namespace);
  const write = {
    ...writeOptions(session, manner),
    force: manner.force,
    type: 'application/apply-patch+yaml' as const,
  };
  const object = await resource.patch(placed.name, placed.object, write, io.signal);
  return { outcome: 'serverside-applied', object };
}

async function mergedHere(session: Session, placed: PlacedObject, manner: ApplyManner): Promise<Applied> {
  const { client, io } = session;
  const resource = client.resource<KubeObject>(placed.resource, placed.namespace);
  const wanted = withLastApplied(placed.object);
  const write = writeOptions(session, manner);
  for (let attempt = 1; ; attempt++) {
    try {
      const before = await standing(session, placed);
      if (before === undefined)
        return { outcome: 'created', object: await resource.create(asObject(wanted), write, io.signal) };
      const patch = threeWayPatch(lastApplied(before) ?? {}, wanted, before);
      if (Object.keys(patch).length === 0) return { outcome: 'unchanged', object: before, before };
      const object = await resource.patch(placed.name, patch, write, io.signal);
      const same = object.metadata.resourceVersion === before.metadata.resourceVersion && !manner.dryRun;
      return { outcome: same ? 'unchanged' : 'configured', object, before };
    } catch (error) {
      const raced = error instanceof ApiError && (error.reason === 'Conflict' || error.reason === 'AlreadyExists');
      if (!raced || attempt >= ATTEMPTS) throw error;
    }
  }
}

/** Whether an object that stands was made by something else than apply, which then begins to keep record of what it says. */
export function isForeign({ before }: Applied): boolean {
  return before !== undefined && before.metadata.annotations?.[LAST_APPLIED] === undefined;
}

/** What stands under the name of an object now. */
export async function standing({ client, io }: Session, placed: PlacedObject): Promise<KubeObject | undefined> {
  try {
    return await client.resource<KubeObject>(placed.resource, placed.namespace).get(placed.name, io.signal);
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
    throw error;
  }
}

function asObject(object: JsonObject): NewObject<KubeObject> {
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isObject(metadata))
    throw new Error('an object without apiVersion, kind or metadata came past the reader');
  // The server fills in uid, resourceVersion and creationTimestamp.
  return { ...object, apiVersion, kind, metadata: metadata as Partial<ObjectMeta> };
}
