import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { ApiError } from '../../resources/meta/api-error.ts';
import { parseJson } from '../../resources/meta/json.ts';
import { andThen, type Eventual } from '../eventual.ts';
import { failure } from './respond.ts';
import type { ServerRequest, ServerResponse } from './server-request.ts';
import { yamlText } from './yaml-text.ts';

/** Smaller bodies are sent as they are. */
const COMPRESSED_FROM = 128 << 10;
/** Speed counts for more than the last few percent. */
const LEVEL = 1;

/** Writing YAML takes all of an answer at once, and far longer than JSON. */
export const MOST_YAML_BYTES = 1 << 20;

/** A whole answer in JSON, as YAML; 406 when it is long. */
export async function asYaml(response: ServerResponse): Promise<ServerResponse> {
  const { headers, body } = response;
  if (headers['content-type'] !== 'application/json' || response.live === true) return response;
  const bytes = await whole(body, MOST_YAML_BYTES);
  if (bytes === undefined) {
    const why = `an answer of more than ${MOST_YAML_BYTES} bytes is not given as YAML; ask for application/json, or for pages with limit`;
    return failure(new ApiError('NotAcceptable', why));
  }
  const { value } = parseJson(Buffer.from(bytes).toString('utf8'));
  const text = new TextEncoder().encode(yamlText(value));
  return { ...response, headers: { ...headers, 'content-type': 'application/yaml' }, body: text };
}

/** All of a body, or undefined when it is longer than that. */
async function whole(body: ServerResponse['body'], most: number): Promise<Uint8Array | undefined> {
  if (body instanceof Uint8Array) return body.length > most ? undefined : body;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/**
 * The answer compressed, when the client takes gzip and it is large; never what is still going on. Compression is done off the event loop.
 */
export function compressed(request: ServerRequest, response: ServerResponse): Eventual<ServerResponse> {
  const { headers, body } = response;
  // A body in pieces is a list that is larger than this.
  if (body instanceof Uint8Array && body.length <= COMPRESSED_FROM) return response;
  if (response.live === true || request.method === 'HEAD' || !takesGzip(request.headers['accept-encoding']))
    return response;
  if (!String(headers['content-type']).startsWith('application/')) return response;
  const packed = body instanceof Uint8Array ? promisify(gzip)(body, { level: LEVEL }) : packedPieces(body);
  const vary = headers.vary === undefined ? 'Accept-Encoding' : `${String(headers.vary)}, Accept-Encoding`;
  return andThen<ServerResponse['body'], ServerResponse>(packed, (whole) => ({
    ...response,
    headers: { ...headers, 'content-encoding': 'gzip', vary },
    body: whole,
  }));
}

function packedPieces(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const source = Readable.from(body, { objectMode: false });
  // What goes wrong on either side reaches whoever reads the result.
  return pipeline(source, createGzip({ level: LEVEL }), () => {});
}

const takesGzip = (header = ''): boolean => header.split(',').some((part) => part.split(';')[0]?.trim() === 'gzip');
