import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { dumps } from './exact-json.ts';
import type { WireRequest } from './wire-case.ts';

interface Endpoint {
  readonly port: number;
  readonly ca: string;
  readonly token: string;
}

export interface WireAnswer {
  readonly code: number;
  /** Every value of every header, names in lowercase. */
  readonly headers: NodeJS.Dict<string[]>;
  readonly data: Buffer;
}

const IDLE_MS = 40_000;

/** Requests over one TLS connection that is kept, as a client has it, and watches over connections of their own. */
export class WireConnection implements Disposable {
  readonly #endpoint: Endpoint;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** One request; a kept connection that turns out to be closed is replaced once. */
  async call(wish: WireRequest): Promise<WireAnswer> {
    try {
      return await this.#once(wish);
    } catch {
      return await this.#once(wish);
    }
  }

  async #once(wish: WireRequest): Promise<WireAnswer> {
    const incoming = await answered(this.#send(wish, this.#agent), payloadOf(wish));
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    return { code: incoming.statusCode ?? 0, headers: incoming.headersDistinct, data: Buffer.concat(pieces) };
  }

  /** Opens a watch; resolves with its headers. */
  async open(wish: WireRequest): Promise<IncomingMessage> {
    return answered(this.#send({ method: 'GET', ...wish }, new Agent()), undefined);
  }

  #send(wish: WireRequest, agent: Agent): ClientRequest {
    const { port, ca, token } = this.#endpoint;
    const payload = payloadOf(wish);
    const all: Record<string, string | null> = {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json',
      'User-Agent': 'wire/1',
      ...(wish.accept === undefined ? {} : { Accept: wish.accept }),
      ...(wish.type ? { 'Content-Type': wish.type } : {}),
      ...wish.headers,
      ...(payload === undefined ? {} : { 'Content-Length': String(payload.length) }),
    };
    const headers = Object.fromEntries(
      Object.entries(all).filter(([, value]) => value !== null),
    ) as NodeJS.Dict<string>;
    const path = wish.query ? `${wish.path}?${wish.query}` : wish.path;
    return request({ host: '127.0.0.1', port, ca, agent, path, headers, method: wish.method, timeout: IDLE_MS });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Sends the body and waits for the head of the answer, which may come before the body was read. */
function answered(outgoing: ClientRequest, payload: Buffer | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.on('error', reject);
    outgoing.once('timeout', () => outgoing.destroy(new Error('nothing came')));
    outgoing.end(payload);
  });
}

function payloadOf({ base64, text, body }: WireRequest): Buffer | undefined {
  if (base64 !== undefined) return Buffer.from(base64, 'base64');
  if (text !== undefined) {
    const parts = typeof text === 'string' ? [text] : text;
    return Buffer.from(parts.map((part) => (typeof part === 'string' ? part : part[0].repeat(part[1]))).join(''));
  }
  return body === undefined ? undefined : Buffer.from(dumps(body, false));
}
