import type { ApiRequest, ApiResponse, Transport } from '../../apiserver/client/transport.ts';
import type { ApiError } from '../../resources/meta/api-error.ts';

/** A transport that remembers requests, can answer them in the server's place or fail them, and can be cut. */
export class Wire {
  readonly requests: ApiRequest[] = [];
  readonly #inner: Transport;
  #cut = new AbortController();
  /** Answers in the server's place, throws as a network does, or leaves it to the server (undefined). */
  answer: (request: ApiRequest) => ApiResponse | undefined = () => undefined;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  readonly transport: Transport = async (request) => {
    this.requests.push(request);
    const signals = [this.#cut.signal, ...(request.signal === undefined ? [] : [request.signal])];
    return this.answer(request) ?? (await this.#inner({ ...request, signal: AbortSignal.any(signals) }));
  };

  /** Ends every stream that is open. */
  cut(): void {
    this.#cut.abort(new Error('the wire was cut'));
    this.#cut = new AbortController();
  }
}

export const isWatch = (request: ApiRequest): boolean => request.path.includes('watch=true');

/** A 200 whose body comes in these pieces; an Error breaks it there. */
export function streamOf(...pieces: readonly (string | Error)[]): ApiResponse {
  return { status: 200, headers: {}, body: bytes(pieces) };
}

/** The answer that stands for an error. */
export function refusal(error: ApiError): ApiResponse {
  return { status: error.code, headers: {}, body: bytes([JSON.stringify(error.toStatus())]) };
}

async function* bytes(pieces: readonly (string | Error)[]): AsyncIterable<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield new TextEncoder().encode(piece);
  }
}
