import { ApiError } from '../../resources/meta/api-error.ts';

/** How an answer is shaped. */
export type Representation = 'Object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

interface MediaRange {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

/** The first representation of the `Accept` header that can be served. Throws `NotAcceptable` when none can. */
export function negotiate(accept: string | undefined): Representation {
  if (accept === undefined || accept.trim() === '') return 'Object';
  const ranges = accept
    .split(',')
    .map(parseRange)
    .filter((r) => r.quality > 0);
  ranges.sort((a, b) => b.quality - a.quality);
  for (const range of ranges) {
    const found = servable(range);
    if (found !== undefined) return found;
  }
  throw new ApiError(
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/json;as=Table;v=v1;g=meta.k8s.io, application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io, application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  );
}

function servable({ type, parameters }: MediaRange): Representation | undefined {
  if (type !== 'application/json' && type !== '*/*' && type !== 'application/*') return undefined;
  const as = parameters.as;
  if (as === undefined) return 'Object';
  if (parameters.g !== 'meta.k8s.io' || parameters.v !== 'v1') return undefined;
  if (as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return as;
  return undefined;
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
export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}
