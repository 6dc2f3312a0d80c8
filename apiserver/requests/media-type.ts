import { ApiError, type StatusDetails } from '../../resources/meta/api-error.ts';

/** The forms an answer has besides that of the object or list itself. */
export type Form = 'Object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

/** How an answer is shaped: a form, where it is not of meta.k8s.io/v1 with its version. */
export type Representation = Form | `${Exclude<Form, 'Object'>}.v1beta1`;

/** What an `Accept` header came to. */
export interface Negotiated {
  readonly representation: Representation;
  /** The answer is to be YAML. */
  readonly yaml: boolean;
}

export type MetaVersion = 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1';

export function formOf(representation: Representation): Form {
  return representation.replace('.v1beta1', '') as Form;
}

export function metaVersionOf(representation: Representation): MetaVersion {
  return representation.endsWith('.v1beta1') ? 'meta.k8s.io/v1beta1' : 'meta.k8s.io/v1';
}

interface MediaRange {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

const JSON_TYPES = new Set(['application/json', 'application/*', '*/*']);
const FORMS: ReadonlySet<string> = new Set<Form>(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

/** The best entry of the `Accept` header that can be served. A stream has no YAML. Throws `NotAcceptable` when none can. */
export function negotiate(accept: string | undefined, isStream = false): Negotiated {
  if (accept === undefined || accept.trim() === '') return { representation: 'Object', yaml: false };
  const ranges = accept.split(',').map(parseRange);
  ranges.sort((a, b) => b.quality - a.quality || wildness(a) - wildness(b));
  for (const range of ranges) {
    const found = servable(range, isStream);
    if (found !== undefined) return found;
  }
  throw notAcceptable(isStream);
}

/** 406, naming what there is. */
function notAcceptable(isStream = false): ApiError {
  const types = isStream ? 'application/json' : 'application/json, application/yaml';
  return new ApiError('NotAcceptable', `only the following media types are accepted: ${types}`);
}

/** A type that is named goes before one that is left open, at the same quality. */
const wildness = ({ type }: MediaRange): number => (type.startsWith('*') ? 2 : type.endsWith('/*') ? 1 : 0);

function servable({ type, parameters }: MediaRange, isStream: boolean): Negotiated | undefined {
  const yaml = type === 'application/yaml' && !isStream;
  if (!yaml && !JSON_TYPES.has(type)) return undefined;
  const { as = '', g, v } = parameters;
  if (as === '') return { representation: 'Object', yaml };
  if (!FORMS.has(as) || g !== 'meta.k8s.io') return undefined;
  const form = as as Exclude<Form, 'Object'>;
  if (v === 'v1') return { representation: form, yaml };
  return v === 'v1beta1' ? { representation: `${form}.v1beta1`, yaml } : undefined;
}

function parseRange(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters: Record<string, string> = {};
  for (const part of rest) {
    const equals = part.indexOf('=');
    if (equals > 0) parameters[part.slice(0, equals).toLowerCase()] = part.slice(equals + 1).replace(/^"|"$/g, '');
  }
  const quality = parameters.q === undefined ? 1 : Number(parameters.q);
  return { type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 1 };
}

/** The media type of a request body without its parameters; absent means JSON. */
export function contentType(header: string | undefined): string {
  const type = header?.split(';')[0]?.trim().toLowerCase();
  return type === undefined || type === '' ? 'application/json' : type;
}

/** 415, naming what is accepted. */
export function unsupportedMediaType(accepted: readonly string[], details?: StatusDetails): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError('UnsupportedMediaType', message, details === undefined ? {} : { details });
}
