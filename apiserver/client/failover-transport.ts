import type { Clock } from '../../resources/ambient/clock.ts';
import type { Connection } from './https-transport.ts';
import { MultiplexedTransport } from './multiplexed-transport.ts';
import type { ServerChoice } from './server-choice.ts';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';
import { UnreachableError } from './unreachable-error.ts';

interface FailoverOptions {
  readonly servers: ServerChoice;
  /** How to send to one of them. */
  readonly sendTo: (server: string) => Transport;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** With another server at hand nobody waits long for one that does not answer. */
const CONNECT_TIMEOUT_MS = 3_000;
/** How often all servers are tried, and how long is waited before they are tried again: doubling, less up to half by chance. */
const ROUNDS = 3;
const FIRST_WAIT_MS = 100;

/** What a server says that is about itself, and not about what was asked. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * A transport over several servers of one control plane. A request goes to the next server when it certainly was not done: it could not be
 * sent, or it only reads. A write that went out and got no answer is thrown as an `UnreachableError` whose `sent` is true, and is never sent a
 * second time: it may have been done. Answers are the server's, whatever they say; a read that a server cannot serve just now is tried
 * with the others before it is told so.
 */
export class FailoverTransport {
  readonly #options: FailoverOptions;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  readonly send: Transport = async (request) => {
    const { clock, random } = this.#options;
    for (let round = 1; ; round++) {
      try {
        return await this.#round(request);
      } catch (error) {
        if (round === ROUNDS || !mayRepeat(request, error)) throw error;
      }
      await clock.sleep(FIRST_WAIT_MS * 2 ** (round - 1) * (1 - random() / 2), request.signal);
    }
  };

  /** Tries each server once. Throws what the last of them threw when none of them said anything. */
  async #round(request: ApiRequest): Promise<ApiResponse> {
    const { servers, sendTo } = this.#options;
    const tried = new Set<string>();
    let said: ApiResponse | undefined;
    let failure: unknown;
    for (let server = servers.next(); server !== undefined; server = servers.next(tried)) {
      tried.add(server);
      try {
        const response = await sendTo(server)(request);
        if (!isAway(request, response)) return response;
        said = await whole(response);
      } catch (error) {
        if (error instanceof UnreachableError && error.reason === 'timeout') servers.silent(server);
        if (!mayRepeat(request, error)) throw asUnknown(request, error);
        failure = error;
      }
      servers.failed(server);
    }
    if (said !== undefined) return said;
    throw failure;
  }
}

/**
 * A transport to servers that are spoken to alike. What is open to one that is found to be silent is broken off, so that watches go on elsewhere.
 * Disposing it ends what is still open.
 */
export function openFailover(
  options: Omit<FailoverOptions, 'sendTo'>,
  connectionTo: (server: string) => Connection,
): { readonly send: Transport } & AsyncDisposable {
  const { servers } = options.servers;
  const patience = servers.length > 1 ? { connectTimeoutMs: CONNECT_TIMEOUT_MS } : {};
  const transports = new Map(
    servers.map((server) => [server, new MultiplexedTransport(connectionTo(server), patience)]),
  );
  const sendTo = (server: string) => {
    const transport = transports.get(server);
    if (transport === undefined) throw new TypeError(`${server} is none of the servers`);
    return transport.send;
  };
  const stop = options.servers.onSilent((server) => transports.get(server)?.breakOff());
  return {
    send: new FailoverTransport({ ...options, sendTo }).send,
    async [Symbol.asyncDispose]() {
      stop();
      for (const transport of transports.values()) await transport[Symbol.asyncDispose]();
    },
  };
}

const isAway = ({ method }: ApiRequest, { status }: ApiResponse) => method === 'GET' && AWAY.has(status);

/** Whether a failed request may be sent again without being done twice. */
function mayRepeat({ method, signal }: ApiRequest, error: unknown): boolean {
  if (signal?.aborted || !(error instanceof UnreachableError)) return false;
  return method === 'GET' || !error.sent;
}

/** A write that got no answer, in words that say what that means. */
function asUnknown({ method }: ApiRequest, error: unknown): unknown {
  if (!(error instanceof UnreachableError) || !error.sent || method === 'GET') return error;
  const { reason, server, message } = error;
  return new UnreachableError(reason, server, `${message}; the ${method} may or may not have been done`, {
    cause: error,
    sent: true,
  });
}

/** The response with its body read, as the connection is not kept for it. */
async function whole(response: ApiResponse): Promise<ApiResponse> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  return { ...response, body: given(pieces) };
}

async function* given(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* pieces;
}
