import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { type ParsedJson, parseJsonBytes } from '../../resources/meta/json.ts';
import { JsonSyntaxError } from '../../resources/meta/json-syntax-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { undecodable } from '../admission/field-validation.ts';
import { mergeTypeOf } from '../apply/merge-type.ts';
import { checkRecordSize } from '../apply/record-size.ts';
import type { ServerRequest } from '../requests/server-request.ts';
import { withBody } from '../requests/with-body.ts';
import { checkedType, MAX_BODY_BYTES, readYamlBody } from './body.ts';

export interface AppliedBody {
  readonly config: JsonObject & { metadata: JsonObject };
  /** What is to be said of fields given twice. */
  readonly duplicates: readonly string[];
}

/** An applied configuration: YAML, of which JSON is a part that is read faster. */
export async function readApplied(
  request: ServerRequest,
  kind: Pick<Kind, 'group' | 'version' | 'kind' | 'origin'> & Partial<Pick<Kind, 'schema'>>,
): Promise<AppliedBody> {
  const bytes = await request.body(MAX_BODY_BYTES);
  const again = withBody(request, bytes);
  const { value, duplicates } = asPlainJson(bytes) ?? (await readYamlBody(again, 'error decoding YAML'));
  if (!isObject(value)) throw new ApiError('BadRequest', 'error decoding YAML: the configuration is not an object');
  if (typeof value.kind === 'string' && value.kind !== '' && value.kind !== kind.kind)
    throw undecodable(kind, `the kind in the data is ${value.kind}`);
  const config = checkedType(value, kind, 'the applied configuration');
  const { schema } = kind;
  if (schema !== undefined) checkRecordSize(config, mergeTypeOf({ schema }));
  return { config, duplicates };
}

/** JSON that gives no field twice: of these the reader of YAML tells. */
function asPlainJson(bytes: Uint8Array): ParsedJson | undefined {
  try {
    const parsed = parseJsonBytes(bytes);
    return parsed.duplicates.length === 0 ? parsed : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
