import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import { applyJsonPatch, decodeJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import { contentType, unsupportedMediaType } from '../requests/media-type.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { patchOptions } from '../requests/write-options.ts';
import { applyPatch } from './apply.ts';
import { MAX_BODY_BYTES, parseBody } from './body.ts';
import { checkNames, frameOf } from './next-object.ts';
import { patchedObject } from './patched-object.ts';
import { checkLock, writeOver } from './update.ts';
import { nameOf, type VerbContext } from './verb-context.ts';

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';
const STRATEGIC = 'application/strategic-merge-patch+json';

/** PATCH of an object, its status, or another part of it: read, change, write, again when another write came between. */
export async function patch(context: VerbContext): Promise<ServerResponse> {
  const { request, served, target } = context;
  const { kind } = served;
  const { query } = request;
  const type = contentType(request.headers['content-type']);
  const accepted = kind.origin === 'core' ? [JSON_PATCH, MERGE, STRATEGIC, APPLY] : [JSON_PATCH, MERGE, APPLY];
  // Of Kubernetes' own kinds the details are there, and empty.
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted, kind.origin === 'core' ? {} : undefined);
  if (type === APPLY) return applyPatch(context);
  const { dryRun, manager, directive } = patchOptions(query);
  const frame = frameOf(context, manager);
  const patched = await readPatch(context, type);
  const warnings: string[] = [];
  return writeOver(context, frame, dryRun, warnings, (before) => {
    const { document, odd } = patched(before);
    const { object, warnings: found } = patchedObject(kind, document, { directive, odd });
    warnings.splice(0, warnings.length, ...found);
    checkNames(object.metadata, nameOf(context), target.namespace);
    checkLock(context, before, object.metadata.resourceVersion);
    return object;
  });
}

/** What a patch makes of an object, and the texts of what is odd about the patch itself. */
type Patched = (before: KubeObject) => { readonly document: JsonObject; readonly odd: readonly string[] };

/** A patch that is read when there is something to patch: that there is nothing comes first. */
async function readPatch({ request, served }: VerbContext, type: string): Promise<Patched> {
  const bytes = await request.body(MAX_BODY_BYTES);
  return (before) => {
    const { value, duplicates } = parseBody(bytes, 'error decoding patch');
    if (type === JSON_PATCH) {
      const { operations, unknown } = decodeJsonPatch(value);
      const odd = [
        ...duplicates.map((path) => `json patch duplicate field "${path}"`),
        ...unknown.map((path) => `json patch unknown field "${path}"`),
      ];
      return { document: objectOf(applyJsonPatch(before, operations)), odd };
    }
    if (!isObject(value)) throw new ApiError('BadRequest', 'a merge patch must be a JSON object');
    const odd = duplicates.map((path) => `duplicate field "${path}"`);
    const document =
      type === STRATEGIC ? applyStrategicMergePatch(before, value, served.kind.schema) : applyMergePatch(before, value);
    return { document: objectOf(document), odd };
  };
}

function objectOf(patched: unknown): JsonObject {
  if (!isObject(patched)) throw new ApiError('Invalid', 'the patched object is not an object');
  return patched;
}
