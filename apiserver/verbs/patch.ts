import { ApiError } from '../../resources/meta/api-error.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import { goQuote } from '../admission/go-format.ts';
import { applyJsonPatch, decodeJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import { contentType, unsupportedMediaType } from '../requests/media-type.ts';
import { dryRunOption, fieldManagerOption, fieldValidationOption, invalidOption } from '../requests/options.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { applyPatch } from './apply.ts';
import { checkedType, readJsonBody } from './body.ts';
import { checkNames, frameOf, knownFields } from './next-object.ts';
import { checkVersion, writeOver } from './update.ts';
import { nameOf, type VerbContext } from './verb-context.ts';

const OPTIONS = 'PatchOptions';
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
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  if (type === APPLY) return applyPatch(context);
  if (query.has('force'))
    throw invalidOption(OPTIONS, 'force', 'FieldValueForbidden', 'Forbidden: may not be specified for non-apply patch');
  const dryRun = dryRunOption(query.getAll('dryRun'), OPTIONS);
  const frame = frameOf(context, fieldManagerOption(query, OPTIONS));
  const directive = fieldValidationOption(query, OPTIONS);
  const apply = await readPatch(context, type);
  const warnings: string[] = [];
  return writeOver(context, frame, dryRun, warnings, (before) => {
    const patched = checkedType(apply.to(before), kind);
    const told = directive === 'Strict' ? 'Warn' : directive;
    const { object, warnings: found } = knownFields(kind, patched, apply.duplicates, told);
    if (directive === 'Strict' && found.length > 0) throw notStrict(patched, found);
    warnings.splice(0, warnings.length, ...found);
    checkNames(object.metadata, nameOf(context), target.namespace);
    const version = object.metadata.resourceVersion;
    if (version !== undefined && version !== '' && version !== before.metadata.resourceVersion)
      checkVersion(context, before, version);
    return object;
  });
}

/** What a patch brings that no schema knows, or twice, is told of the patched object; a real server names no kind here. */
function notStrict(patched: JsonObject, found: readonly string[]): ApiError {
  const message = `Invalid value: ${goQuote(encodeJson(patched))}: strict decoding error: ${found.join(', ')}`;
  const causes = [{ reason: 'FieldValueInvalid', message, field: 'patch' }];
  return new ApiError('Invalid', ` "" is invalid: patch: ${message}`, { details: { causes } });
}

interface ReadyPatch {
  readonly duplicates: readonly string[];
  to(before: KubeObject): JsonObject;
}

async function readPatch({ request, served }: VerbContext, type: string): Promise<ReadyPatch> {
  const { value, duplicates } = await readJsonBody(request, 'error decoding patch');
  if (type === JSON_PATCH) {
    const { operations } = decodeJsonPatch(value);
    return { duplicates, to: (before) => objectOf(applyJsonPatch(before, operations)) };
  }
  if (!isObject(value)) throw new ApiError('BadRequest', 'a merge patch must be a JSON object');
  if (type === STRATEGIC)
    return { duplicates, to: (before) => objectOf(applyStrategicMergePatch(before, value, served.kind.schema)) };
  return { duplicates, to: (before) => objectOf(applyMergePatch(before, value)) };
}

function objectOf(patched: unknown): JsonObject {
  if (!isObject(patched)) throw new ApiError('Invalid', 'the patched object is not an object');
  return patched;
}
