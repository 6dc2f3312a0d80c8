import { ApiError, conflict, notFound } from '../../resources/meta/api-error.ts';
import { type Kind, storedIn } from '../../resources/meta/define-kind.ts';
import type { JsonObject, KubeObject } from '../../resources/meta/object.ts';
import type { FieldValidation } from '../admission/field-validation.ts';
import { type Applied, applyConfig } from '../apply/apply.ts';
import { authorize, authorizeObject } from '../auth/authorize.ts';
import { askerOf } from '../auth/identity.ts';
import { commit, currentOf, type Versioned, type WritePlan } from '../registry/commit.ts';
import { fromStorage } from '../registry/versions.ts';
import { warningHeaders } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { applyOptions } from '../requests/write-options.ts';
import { assertReadable } from '../sealing/damage.ts';
import { type AppliedBody, readApplied } from './applied-body.ts';
import { planCreate } from './create.ts';
import { checkNames, frameOf, instantOf, knownFields, nextObject, type WriteFrame } from './next-object.ts';
import { oneObject } from './represent.ts';
import { checkVersion, isHeld, planOver } from './update.ts';
import { nameOf, type VerbContext } from './verb-context.ts';

/** PATCH with an applied configuration: merges it into what stands, or makes the object when nothing does. */
export async function applyPatch(context: VerbContext): Promise<ServerResponse> {
  const { parts, request, served } = context;
  const wish = await readWish(context);
  const warnings: string[] = [];
  let created = false;
  let last: KubeObject | undefined;
  const plan = (): WritePlan => {
    warnings.length = 0;
    const kept = currentOf(parts.cache, storedIn(served.kind), context.target.namespace, nameOf(context));
    const there = kept && shownBy(served.kind, kept);
    created = there === undefined;
    const next = there === undefined ? planFirst(context, wish, warnings) : planNext(context, wish, there, warnings);
    last = next.after ?? last;
    return next;
  };
  const written = await commit(parts, plan, { dryRun: wish.dryRun, caller: request, asker: askerOf(context.identity) });
  const object = written?.object ?? last;
  if (object === undefined) throw new Error('an apply ended without an object');
  return oneObject(created ? 201 : 200, served.kind, object, {
    representation: context.representation,
    query: request.query,
    nowMs: parts.clock.now(),
    bytes: written?.bytes,
    headers: warningHeaders(warnings),
  });
}

/** What stands, as a kind shows it that has its objects from another. */
function shownBy(kind: Kind, kept: Versioned): Versioned {
  return kind.view === undefined ? kept : { ...kept, object: fromStorage(kind, kept.object) };
}

interface ApplyWish extends AppliedBody {
  readonly frame: WriteFrame;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly directive: FieldValidation;
}

async function readWish(context: VerbContext): Promise<ApplyWish> {
  const { request, served, target } = context;
  const { manager, force, dryRun, directive } = applyOptions(request.query);
  const body = await readApplied(request, served.kind);
  const { metadata } = body.config;
  if (metadata.managedFields !== undefined && metadata.managedFields !== null)
    throw new ApiError('BadRequest', 'metadata.managedFields must be nil');
  checkNames(metadata, nameOf(context), target.namespace);
  return { ...body, frame: frameOf(context, manager), force, dryRun, directive };
}

function applied(
  { parts, served }: VerbContext,
  { frame, force, config }: ApplyWish,
  live: KubeObject | undefined,
): Applied {
  const { manager, subresource } = frame;
  return applyConfig({ kind: served.kind, manager, subresource, now: instantOf(parts), force }, live, config);
}

/** What no schema knows is dropped and told of, but for what the merge refused already. */
function known({ served }: VerbContext, { duplicates, directive }: ApplyWish, object: JsonObject, warnings: string[]) {
  if (directive === 'Strict' && duplicates.length > 0)
    throw new ApiError(
      'BadRequest',
      `error strict decoding YAML: error converting YAML to JSON: ${duplicates.join(', ')}`,
    );
  const found = knownFields(served.kind, object, duplicates, directive);
  warnings.push(...found.warnings);
  return found.object;
}

function planFirst(context: VerbContext, wish: ApplyWish, warnings: string[]): WritePlan {
  const { identity, served, target, ask } = context;
  const name = nameOf(context);
  if (target.subresource !== undefined) throw notFound(served.kind, name);
  authorize(identity, { ...ask, verb: 'create' });
  const { uid } = wish.config.metadata;
  if (typeof uid === 'string' && uid !== '') {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(served.kind, name, why);
  }
  const { object, managers } = applied(context, wish, undefined);
  const sent = known(context, wish, object, warnings);
  return planCreate(context, wish.frame, { ...sent, metadata: { ...sent.metadata, name } }, managers);
}

function planNext(context: VerbContext, wish: ApplyWish, there: Versioned, warnings: string[]): WritePlan {
  assertReadable(context.served.kind, there.object);
  authorizeObject(context.identity, context.served.kind, there.object);
  const { resourceVersion } = wish.config.metadata;
  if (resourceVersion !== undefined && resourceVersion !== '') checkVersion(context, there.object, resourceVersion);
  const { object, managers } = applied(context, wish, there.object);
  const next = nextObject(wish.frame, there.object, known(context, wish, object, warnings), managers);
  return planOver(context, there, isHeld(context, next) ? next : undefined);
}
