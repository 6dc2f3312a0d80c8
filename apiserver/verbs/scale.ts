import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { applyJsonPatch, decodeJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { commit, type WritePlan } from '../registry/commit.ts';
import { contentType, unsupportedMediaType } from '../requests/media-type.ts';
import { dryRunOption, fieldManagerOption } from '../requests/options.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { replicasOf, scaleOf, withReplicas } from '../table/scale.ts';
import { applyScale } from './apply-scale.ts';
import { readAnyBody, readJsonBody } from './body.ts';
import { frameOf, nextObject } from './next-object.ts';
import { oneScale } from './represent-scale.ts';
import { checkVersion, planOver, standing } from './update.ts';
import type { VerbContext } from './verb-context.ts';

const APPLY = 'application/apply-patch+yaml';
const TYPES = {
  PUT: ['application/json', 'application/yaml'],
  PATCH: ['application/json-patch+json', 'application/merge-patch+json', APPLY],
} as const;

/** PUT or PATCH of `/scale`: writes the one field that the kind maps replicas to. */
export async function writeScale(context: VerbContext): Promise<ServerResponse> {
  const { parts, request, served } = context;
  const mapping = served.kind.scale;
  if (mapping === undefined) throw new ApiError('NotFound', 'the server could not find the requested resource');
  if (request.method === 'PATCH' && contentType(request.headers['content-type']) === APPLY)
    return applyScale(context, mapping);
  const options = request.method === 'PUT' ? 'UpdateOptions' : 'PatchOptions';
  const dryRun = dryRunOption(request.query.getAll('dryRun'), options);
  const manager = fieldManagerOption(request.query, options);
  const wish = await readWish(context);
  const frame = { ...frameOf(context, manager), subresource: undefined, ownedBy: 'scale' };
  const plan = (): WritePlan => {
    const before = standing(context);
    const wanted = wish({ ...scaleOf(before.object, mapping) });
    const version = valueAt(wanted, ['metadata', 'resourceVersion']);
    if (version !== undefined && version !== '') checkVersion(context, before.object, version);
    const object = withReplicas(before.object, mapping, replicasOf(wanted, before.object.metadata.name));
    return planOver(context, before, nextObject(frame, before.object, { ...object, metadata: { ...object.metadata } }));
  };
  const written = await commit(parts, plan, { dryRun, signal: request.signal });
  if (written === undefined) throw new Error('a scale ended in a removal');
  return oneScale(200, context, written as KubeObject, mapping);
}

async function readWish({ request }: VerbContext): Promise<(scale: JsonObject) => JsonObject> {
  const type = contentType(request.headers['content-type']);
  const accepted: readonly string[] = request.method === 'PUT' ? TYPES.PUT : TYPES.PATCH;
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const replaces = request.method === 'PUT';
  const { value } = await (replaces ? readAnyBody : readJsonBody)(request, 'error decoding Scale');
  const whole = (scale: unknown): JsonObject => {
    if (!isObject(scale)) throw new ApiError('BadRequest', 'a Scale must be a JSON object');
    return scale;
  };
  if (type === 'application/json-patch+json') {
    const { operations } = decodeJsonPatch(value);
    return (scale) => whole(applyJsonPatch(scale, operations));
  }
  const sent = whole(value);
  return replaces ? () => sent : (scale) => whole(applyMergePatch(scale, sent));
}
