import type { IncomingMessage } from 'node:http';
import WebSocket from 'ws';
import { errorOf } from '../../apiserver/client/client.ts';
import { type Connection, tlsOptions, unreachable, urlOf } from '../../apiserver/client/https-transport.ts';
import { CHANNEL_PROTOCOL, MAX_MESSAGE_BYTES } from '../../resources/streams/channel-frames.ts';

const HANDSHAKE_TIMEOUT_MS = 15_000;
/** Of the text of a refusal. */
const MAX_ERROR_BYTES = 64 << 10;

/** Opens a stream of channel frames. A refusal of the server is thrown as `ApiError`, a failed connection as `UnreachableError`. */
export async function openChannelSocket(connection: Connection, path: string, signal: AbortSignal): Promise<WebSocket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
  const authorization = await connection.authorization?.();
  const socket = new WebSocket(urlOf(connection.server, path).href.replace(/^https/, 'wss'), CHANNEL_PROTOCOL, {
    ...tlsOptions(connection),
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES + 1024,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    headers: authorization === undefined ? {} : { authorization },
  });
  socket.binaryType = 'nodebuffer';
  // Nothing may be read before somebody listens.
  socket.once('open', () => {
    socket.pause();
    resolve(socket);
  });
  socket.once('unexpected-response', (_request, response) => {
    refusalOf(response).then(reject, reject);
  });
  socket.on('error', (error) => reject(unreachable(connection.server, error)));
  const onAbort = () => {
    reject(signal.reason);
    socket.terminate();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await promise;
  } catch (error) {
    socket.terminate();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function refusalOf(response: IncomingMessage): Promise<Error> {
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    text += piece;
    if (text.length > MAX_ERROR_BYTES) break;
  }
  return errorOf(response.statusCode ?? 500, text);
}
