import { ApiError, invalid } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { type ParsedJson, parseJson } from '../../resources/meta/json.ts';
import { JsonSyntaxError } from '../../resources/meta/json-syntax-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { YamlError } from '../../resources/yaml/yaml-error.ts';
import { PROTOBUF_TYPE, type ProtobufReader, protobufReader } from '../protobuf/read-envelope.ts';
import { contentType, unsupportedMediaType } from '../requests/media-type.ts';
import type { ServerRequest } from '../requests/server-request.ts';
import { parseYaml } from '../requests/yaml.ts';

/** No request body may be larger. */
export const MAX_BODY_BYTES = 3 << 20;

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
/** What an object or the options of a delete may be sent as. */
const BODY_TYPES = [JSON_TYPE, YAML_TYPE];

/** Bytes that are no UTF-8 become U+FFFD in JSON, as on a real server; a byte order mark is no JSON. */
const REPLACING = new TextDecoder('utf-8', { ignoreBOM: true });

/** A JSON body of whatever shape, with the fields given twice. */
export async function readJsonBody(
  request: ServerRequest,
  what: string,
): Promise<ParsedJson & { readonly text: string }> {
  return parseBody(await request.body(MAX_BODY_BYTES), what);
}

/** JSON of whatever shape, with the fields given twice. */
export function parseBody(bytes: Uint8Array, what: string): ParsedJson & { readonly text: string } {
  const text = REPLACING.decode(bytes);
  try {
    return { ...parseJson(text), text };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const shown = text.length > 30 ? `${text.slice(0, 30)} ...` : text;
    throw new ApiError('BadRequest', `${what}; json parse error: ${error.message} (${shown})`, { cause: error });
  }
}

/** What a body says, and what is to be said of fields it gives twice. */
interface SentValue {
  readonly value: unknown;
  readonly duplicates: readonly string[];
}

/** A JSON or YAML body, by its content type; a protobuf one where a reader for it is given. */
export function readAnyBody(request: ServerRequest, what: string, protobuf?: ProtobufReader): Promise<SentValue> {
  const type = contentType(request.headers['content-type']);
  if (type === JSON_TYPE) return readSentJson(request, what);
  if (type === YAML_TYPE) return readYamlBody(request, what);
  if (protobuf === undefined) throw unsupportedMediaType(BODY_TYPES);
  if (type === PROTOBUF_TYPE) return readProtobufBody(request, protobuf);
  throw unsupportedMediaType([...BODY_TYPES, PROTOBUF_TYPE]);
}

async function readSentJson(request: ServerRequest, what: string): Promise<SentValue> {
  const { value, duplicates } = await readJsonBody(request, what);
  return { value, duplicates: duplicates.map((path) => `duplicate field "${path}"`) };
}

/** A protobuf body. Nothing in it is a field given twice: the last one counts, or they add up. */
async function readProtobufBody(request: ServerRequest, read: ProtobufReader): Promise<SentValue> {
  return { value: read(await request.body(MAX_BODY_BYTES)), duplicates: [] };
}

/** A YAML body of whatever shape. */
export async function readYamlBody(request: ServerRequest, what: string): Promise<SentValue> {
  const bytes = await request.body(MAX_BODY_BYTES);
  try {
    return parseYaml(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    const why = error instanceof YamlError ? error.message : 'invalid UTF-8 in YAML text';
    throw new ApiError('BadRequest', `${what}; yaml parse error: ${why}`, { cause: error });
  }
}

/** An object of a kind, as a client sent it: its apiVersion and kind are right, its metadata is an object. */
export interface SentObject {
  readonly object: JsonObject & { metadata: JsonObject };
  /** What is to be said of fields given twice. */
  readonly duplicates: readonly string[];
}

/** The body of a create or update. Built-in kinds may leave out apiVersion and kind. */
export async function readObject(request: ServerRequest, kind: TypeMeta): Promise<SentObject> {
  const unrecognized = `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind`;
  const { value, duplicates } = await readAnyBody(request, unrecognized, protobufReader(kind));
  if (!isObject(value)) throw new ApiError('BadRequest', `${unrecognized}; the body is not an object`);
  const warnings = unknownVersionWarnings(value, kind, request.query.get('fieldValidation') ?? '');
  return { object: checkedType(value, kind, unrecognized, warnings), duplicates };
}

/** Of another version of the group nothing is known: a real server warns of its fields before it refuses it. */
function unknownVersionWarnings(value: JsonObject, kind: TypeMeta, directive: string): readonly string[] {
  const { apiVersion } = value;
  if (kind.origin !== 'user' || (directive !== '' && directive !== 'Warn') || typeof apiVersion !== 'string') return [];
  if (apiVersion === apiVersionOf(kind) || !apiVersion.startsWith(`${kind.group}/`)) return [];
  const unknown = Object.keys(value).filter((name) => !['apiVersion', 'kind', 'metadata'].includes(name));
  return unknown.sort().map((name) => `unknown field "${name}"`);
}

type TypeMeta = Pick<Kind, 'group' | 'version' | 'kind' | 'origin'>;

function wrongKind({ metadata }: JsonObject, sent: string, { group, kind }: TypeMeta): ApiError {
  const name = isObject(metadata) && typeof metadata.name === 'string' ? metadata.name : '';
  const message = `Invalid value: ${JSON.stringify(sent)}: must be ${kind}`;
  return invalid({ group, kind: sent }, name, [{ reason: 'FieldValueInvalid', message, field: 'kind' }]);
}

const isMissing = (value: unknown): boolean => value === undefined || value === null;

/** Checks apiVersion, kind and the shape of metadata, of a body or of a patched object. */
export function checkedType(
  value: JsonObject,
  kind: TypeMeta,
  unrecognized?: string,
  warnings: readonly string[] = [],
): SentObject['object'] {
  const expected = apiVersionOf(kind);
  const filled =
    kind.origin === 'core' && (isMissing(value.apiVersion) || isMissing(value.kind))
      ? { ...value, apiVersion: value.apiVersion ?? expected, kind: value.kind ?? kind.kind }
      : value;
  if (
    typeof filled.kind !== 'string' ||
    filled.kind === '' ||
    typeof filled.apiVersion !== 'string' ||
    filled.apiVersion === ''
  ) {
    throw new ApiError(
      'BadRequest',
      `${unrecognized ?? 'the patched object'}: Object 'Kind' or 'apiVersion' is missing`,
    );
  }
  if (filled.apiVersion !== expected) {
    const message = `the API version in the data (${filled.apiVersion}) does not match the expected API version (${expected})`;
    throw new ApiError('BadRequest', message, { warnings });
  }
  if (filled.kind !== kind.kind) {
    if (kind.origin !== 'core') throw wrongKind(value, filled.kind, kind);
    const [sent, served] = [filled.kind, kind.kind];
    throw new ApiError(
      'BadRequest',
      `${served} in version "${kind.version}" cannot be handled as a ${served}: the kind in the data is ${sent}`,
    );
  }
  const metadata = filled.metadata ?? {};
  if (!isObject(metadata)) {
    throw new ApiError(
      'BadRequest',
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: metadata must be an object`,
    );
  }
  return hasMetadata(filled) ? filled : { ...filled, metadata };
}

const hasMetadata = (object: JsonObject): object is SentObject['object'] => isObject(object.metadata);
