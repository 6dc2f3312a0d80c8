import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { Clock } from '../../resources/ambient/clock.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { MAX_MESSAGE_BYTES } from '../../resources/streams/channel-frames.ts';
import {
  PING_INTERVAL_MS,
  RELAY_PROTOCOL,
  type StreamRequest,
  TICKET_LIFETIME_MS,
} from '../../resources/streams/control-messages.ts';
import { parseStreamRequest } from '../../resources/streams/parse-stream-request.ts';
import { errorOf } from '../client/client.ts';
import { unavailable } from './control-hub.ts';
import { holderAway, type PeerDialer } from './stream-router.ts';

/** PEM: the CA that servers have in common, and the certificate that says which of them this is. */
export interface PeerTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

interface RelayDeps {
  /** Where a server is reached; undefined when it has not been heard of lately. */
  addressOf(server: string): string | undefined;
  /** Asked for each stream: certificates are renewed. */
  readonly tls: () => Promise<PeerTls>;
  readonly clock: Clock;
}

/** The other server waits for the host as long as a ticket lives; this is for the way there and back. */
const ANSWER_MS = TICKET_LIFETIME_MS + 5_000;
const MAX_STATUS_BYTES = 64 << 10;
/** In the address, as the other server takes no longer one: agents take less. */
const MAX_ENCODED = 192 << 10;

/** Opens streams at the servers that hold their hosts. */
export function createPeerDialer(deps: RelayDeps): PeerDialer {
  return async (server, host, stream, signal) => {
    const address = deps.addressOf(server);
    if (address === undefined) throw holderAway(host, server, 'has not been heard of lately');
    const url = relayUrl(address, host, stream);
    const tls = await deps.tls();
    signal.throwIfAborted();
    const socket = new WebSocket(url, RELAY_PROTOCOL, {
      ...tls,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: MAX_MESSAGE_BYTES + 16,
    });
    await opened(socket, { server, host, clock: deps.clock }, signal);
    keepAlive(socket, deps.clock);
    return socket;
  };
}

function relayUrl(address: string, host: string, stream: StreamRequest): URL {
  const encoded = Buffer.from(JSON.stringify(stream)).toString('base64url');
  if (encoded.length > MAX_ENCODED) throw new ApiError('BadRequest', 'command: too long');
  const url = new URL(`/apis/coppice.dev/v1/hosts/${encodeURIComponent(host)}/relay?stream=${encoded}`, address);
  url.protocol = 'wss:';
  return url;
}

/** What another server asks for. */
export function streamIn(query: URLSearchParams): StreamRequest {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(query.get('stream') ?? '', 'base64url').toString('utf8'));
  } catch {
    value = undefined;
  }
  const stream = parseStreamRequest(value);
  if (stream === undefined) throw new ApiError('BadRequest', 'stream: is no request for a stream');
  return stream;
}

interface Asked {
  readonly server: string;
  readonly host: string;
  readonly clock: Clock;
}

/** Resolves when the socket is open, and holds what comes over it until somebody takes it. Rejects with what the other server answers. */
function opened(socket: WebSocket, { server, host, clock }: Asked, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    const finish = (then: () => void) => {
      if (over) return;
      over = true;
      stop();
      signal.removeEventListener('abort', gone);
      then();
    };
    const fail = (error: unknown) =>
      finish(() => {
        reject(error);
        socket.terminate();
      });
    const gone = () => fail(signal.reason);
    const away = (why: string) => holderAway(host, server, why);
    const stop = clock.after(ANSWER_MS, () => fail(unclear(away(`did not answer within ${ANSWER_MS / 1000} s`))));
    signal.addEventListener('abort', gone, { once: true });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const refused = away(`cannot be reached: ${error.message}`);
      // Only what never left this server was surely not begun on the host.
      fail(isUnsent(error) ? refused : unclear(refused));
    });
    socket.once('unexpected-response', (_request, response) => {
      void statusOf(response).then(fail, (error: unknown) => fail(unclear(away(`broke off: ${String(error)}`))));
    });
    socket.once('open', () => {
      socket.pause();
      finish(resolve);
    });
    if (signal.aborted) gone();
  });
}

/** The host may have been asked: then it must not be asked again. */
const unclear = ({ message }: ApiError) => unavailable(message);

function isUnsent({ syscall, code = '' }: NodeJS.ErrnoException): boolean {
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED)/.test(code)
  );
}

async function statusOf(response: IncomingMessage): Promise<ApiError> {
  let text = '';
  for await (const piece of response) {
    text += String(piece);
    if (text.length > MAX_STATUS_BYTES) break;
  }
  return errorOf(response.statusCode ?? 500, text);
}

/** Finds out that the other server is gone without a word. One whose reader lags is not asked: its answer would wait behind what was not read. */
function keepAlive(socket: WebSocket, clock: Clock): void {
  let lastHeard = clock.monotonic();
  const heard = () => {
    lastHeard = clock.monotonic();
  };
  socket.on('pong', heard);
  socket.on('message', heard);
  let stop = () => {};
  const ask = () => {
    stop = clock.after(PING_INTERVAL_MS, () => {
      if (socket.isPaused) heard();
      if (clock.monotonic() - lastHeard > 3 * PING_INTERVAL_MS) return socket.terminate();
      if (socket.readyState === socket.OPEN) socket.ping();
      ask();
    });
  };
  ask();
  socket.once('close', () => stop());
}
