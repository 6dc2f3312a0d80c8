import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind, Verb } from '../../resources/meta/define-kind.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import { formOf, metaVersionOf, type Representation } from '../requests/media-type.ts';
import { json } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { type ListMeta, partialMetadata, partialMetadataList } from '../table/partial-metadata.ts';
import { type IncludeObject, tableOf } from '../table/table.ts';

const encoder = new TextEncoder();
const SLAB_BYTES = 128 << 10;

/** `includeObject`: Metadata unless said otherwise. */
export function includeObjectOption(query: URLSearchParams): IncludeObject {
  const text = query.get('includeObject') ?? '';
  if (text === '') return 'Metadata';
  if (text === 'None' || text === 'Metadata' || text === 'Object') return text;
  const why = `includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw new ApiError('BadRequest', `Unable to convert to Table as requested: ${why}`);
}

/** Throws `NotAcceptable` for a form that this verb has not, before anything is done. */
export function checkRepresentation(verb: Verb, representation: Representation, query: URLSearchParams): void {
  const form = formOf(representation);
  if (form === 'Table') includeObjectOption(query);
  if (form === 'PartialObjectMetadataList' && verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection') {
    throw new ApiError('NotAcceptable', 'a single object cannot be answered as PartialObjectMetadataList');
  }
  if (form === 'PartialObjectMetadata' && (verb === 'list' || verb === 'deletecollection')) {
    throw new ApiError('NotAcceptable', 'a list cannot be answered as PartialObjectMetadata');
  }
}

/** One object as asked for. `bytes` are its own encoding, when they are at hand. */
export function oneObject(
  status: number,
  kind: Kind,
  object: KubeObject,
  options: {
    readonly representation: Representation;
    readonly query: URLSearchParams;
    readonly nowMs: number;
    readonly bytes?: Uint8Array | undefined;
    readonly headers?: Record<string, string | readonly string[]>;
  },
): ServerResponse {
  const { representation, query, nowMs, bytes, headers } = options;
  const metaVersion = metaVersionOf(representation);
  const form = formOf(representation);
  switch (form) {
    case 'Object':
      return json(status, bytes ?? object, headers);
    case 'PartialObjectMetadata':
      return json(status, partialMetadata(object, metaVersion), headers);
    case 'Table': {
      const listMeta = { resourceVersion: object.metadata.resourceVersion };
      return json(
        status,
        tableOf(kind, [object], { listMeta, includeObject: includeObjectOption(query), metaVersion, nowMs }),
        headers,
      );
    }
    case 'PartialObjectMetadataList':
      throw new Error('checkRepresentation lets no list form through here');
    default:
      throw new Error(`unhandled form ${form satisfies never}`);
  }
}

/** A list as asked for. Plain lists are streamed from the objects' own bytes. */
export function manyObjects(
  kind: Kind,
  items: readonly StoredObject[],
  meta: ListMeta,
  options: { readonly representation: Representation; readonly query: URLSearchParams; readonly nowMs: number },
): ServerResponse {
  const { representation, query, nowMs } = options;
  const objects = () => items.map((item) => item.object);
  const metaVersion = metaVersionOf(representation);
  const form = formOf(representation);
  switch (form) {
    case 'Object':
      return {
        status: 200,
        headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private' },
        body: listBody(kind, items, meta),
      };
    case 'Table':
      return json(
        200,
        tableOf(kind, objects(), { listMeta: meta, includeObject: includeObjectOption(query), metaVersion, nowMs }),
      );
    case 'PartialObjectMetadataList':
      return json(200, partialMetadataList(objects(), meta, metaVersion));
    case 'PartialObjectMetadata':
      throw new Error('checkRepresentation lets no single form through here');
    default:
      throw new Error(`unhandled form ${form satisfies never}`);
  }
}

function listBody(kind: Kind, items: readonly StoredObject[], meta: ListMeta): Uint8Array | AsyncIterable<Uint8Array> {
  const head = encoder.encode(
    `{"kind":${JSON.stringify(kind.listKind)},"apiVersion":${JSON.stringify(apiVersionOf(kind))},"metadata":${encodeJson(meta)},"items":[`,
  );
  const pieces = piecesOf(head, kind, items);
  const bytes = shortBytes(head, items);
  return bytes === undefined ? slabs(pieces) : concatenated(pieces, bytes);
}

/** How long a list is that is short. It looks at no more objects than it takes to know: those of a long one are encoded as they are sent. */
function shortBytes(head: Uint8Array, items: readonly StoredObject[]): number | undefined {
  let total = head.length + 2;
  for (const { bytes } of items) {
    total += bytes.length + 1;
    if (total > SLAB_BYTES) return undefined;
  }
  return total;
}

const COMMA = encoder.encode(',');
const OPEN = encoder.encode('{');
const TAIL = encoder.encode(']}');

function* piecesOf(head: Uint8Array, kind: Kind, items: readonly StoredObject[]): Iterable<Uint8Array> {
  const type = kind.origin === 'core' ? typeFront(kind) : undefined;
  yield head;
  for (const [i, { bytes }] of items.entries()) {
    if (i > 0) yield COMMA;
    if (type === undefined || Buffer.compare(bytes.subarray(0, type.length), type) !== 0) yield bytes;
    else {
      yield OPEN;
      yield bytes.subarray(type.length);
    }
  }
  yield TAIL;
}

/** What stands in front of an object as it is kept. Items in lists of Kubernetes' own kinds do without. */
function typeFront(kind: Kind): Uint8Array {
  return encoder.encode(`{"apiVersion":${JSON.stringify(apiVersionOf(kind))},"kind":${JSON.stringify(kind.kind)},`);
}

function concatenated(pieces: Iterable<Uint8Array>, bound: number): Uint8Array {
  const out = new Uint8Array(bound);
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out.subarray(0, at);
}

/** Pieces of about 128 KiB, so that neither memory nor the event loop holds a whole large list. */
async function* slabs(pieces: Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let slab = new Uint8Array(SLAB_BYTES);
  let used = 0;
  for (const piece of pieces) {
    if (used + piece.length > SLAB_BYTES) {
      yield slab.subarray(0, used);
      slab = new Uint8Array(Math.max(SLAB_BYTES, piece.length));
      used = 0;
    }
    slab.set(piece, used);
    used += piece.length;
  }
  yield slab.subarray(0, used);
}
