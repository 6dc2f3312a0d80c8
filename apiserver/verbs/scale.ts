import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { askerOf } from '../auth/identity.ts';
import { applyJsonPatch, decodeJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { commit, type WritePlan } from '../registry/commit.ts';
import { contentType, unsupportedMediaType } from '../requests/media-type.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { patchOptions, writeOptions } from '../requests/write-options.ts';
import { replicasOf, scaleOf, withReplicas } from '../table/scale.ts';
import { applyScale } from './apply-scale.ts';
import { checkedType, readAnyBody, readJsonBody, type SentObject } from './body.ts';
import { checkNames, frameOf, nextObject } from './next-object.ts';
import { asPatch } from './patched-object.ts';
import { oneScale } from './represent-scale.ts';
import { checkUid, checkVersion, planOver, standing } from './update.ts';
import { nameOf, type VerbContext } from './verb-context.ts';

/** Other than a user's object, a Scale may leave out what it is. */
const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale', origin: 'core' } as const;
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';
const TYPES = {
  PUT: ['application/json', 'application/yaml'],
  PATCH: [JSON_PATCH, 'application/merge-patch+json', APPLY],
} as const;

/** PUT or PATCH of `/scale`: writes the one field that the kind maps replicas to. */
export async function writeScale(context: VerbContext): Promise<ServerResponse> {
  const { parts, request, served } = context;
  const mapping = served.kind.scale;
  if (mapping === undefined) throw new ApiError('NotFound', 'the server could not find the requested resource');
  if (request.method === 'PATCH' && contentType(request.headers['content-type']) === APPLY)
    return applyScale(context, mapping);
  const { query } = request;
  const { dryRun, manager } = request.method === 'PUT' ? writeOptions(query, 'UpdateOptions') : patchOptions(query);
  const wish = await readWish(context);
  const frame = { ...frameOf(context, manager), subresource: undefined, ownedBy: 'scale' };
  const plan = (): WritePlan => {
    const before = standing(context);
    const wanted = wish({ ...scaleOf(before.object, mapping) });
    const { resourceVersion: version, uid } = wanted.metadata;
    if (request.method === 'PUT') checkUid(served.kind, before.object, uid);
    if (version !== undefined && version !== null && version !== '') checkVersion(context, before.object, version);
    const object = withReplicas(before.object, mapping, replicasOf(wanted, before.object.metadata.name));
    return planOver(context, before, nextObject(frame, before.object, { ...object, metadata: { ...object.metadata } }));
  };
  const written = await commit(parts, plan, { dryRun, caller: request, asker: askerOf(context.identity) });
  if (written === undefined) throw new Error('a scale ended in a removal');
  return oneScale(200, context, written.object, mapping);
}

type Wished = SentObject['object'];

async function readWish(context: VerbContext): Promise<(scale: JsonObject) => Wished> {
  const { request, target } = context;
  const type = contentType(request.headers['content-type']);
  const accepted: readonly string[] = request.method === 'PUT' ? TYPES.PUT : TYPES.PATCH;
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const named = (scale: Wished): Wished => {
    checkNames(scale.metadata, nameOf(context), target.namespace);
    return scale;
  };
  if (request.method === 'PUT') {
    const { value } = await readAnyBody(request, 'error decoding Scale');
    if (!isObject(value)) throw new ApiError('BadRequest', 'a Scale must be a JSON object');
    const sent = named(checkedType(value, SCALE));
    return () => sent;
  }
  const { value } = await readJsonBody(request, 'error decoding patch');
  const patched = (scale: JsonObject) => {
    if (type === JSON_PATCH) return applyJsonPatch(scale, decodeJsonPatch(value).operations);
    if (!isObject(value)) throw new ApiError('BadRequest', 'a merge patch must be a JSON object');
    return applyMergePatch(scale, value);
  };
  return (scale) => {
    const result = patched(scale);
    if (!isObject(result)) throw new ApiError('Invalid', 'the patched Scale is not an object', { details: {} });
    return named(asPatch(result, () => checkedType(result, SCALE)));
  };
}
