import type { SecureContext } from 'node:tls';
import { type ClientOptions, WebSocket } from 'ws';
import type { ServerChoice } from '../../apiserver/client/server-choice.ts';

/** The servers that a nodelet may keep its control socket to. */
export interface ControlServers {
  readonly servers: ServerChoice;
  readonly tls?: ServerAddress['tls'];
  /** How sockets to them are opened, where it is not by `openSocket`. */
  readonly open?: OpenSocket;
}

/** As `openSocket`. */
export type OpenSocket = (
  server: ServerAddress,
  path: string,
  protocol: string,
  signal: AbortSignal,
) => Promise<WebSocket>;

/** The server as a nodelet reaches it. */
export interface ServerAddress {
  /** Its origin, such as `https://127.0.0.1:7799`. */
  readonly url: string;
  /** What sockets are opened with; a function is asked for each, where it may be another the next time. */
  readonly tls?: SocketTls | (() => Promise<SocketTls>);
}

/** PEM: the CA to trust, and the certificate that says which host this is. */
export interface SocketTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** What these come to, where it was made already. */
  readonly secureContext?: SecureContext;
}

/** Clients may send larger messages than we do, within reason; beyond this the socket is closed. */
const MAX_RECEIVED_BYTES = 256 << 10;

/**
 * Opens a WebSocket to a path of the server. Resolves with it before it is open: the caller waits for `open` or `error`.
 * Rejects when there is no certificate to be had, or the signal has aborted; then nothing was opened.
 */
export async function openSocket(
  server: ServerAddress,
  path: string,
  protocol: string,
  signal: AbortSignal,
): Promise<WebSocket> {
  const tls = typeof server.tls === 'function' ? await server.tls() : server.tls;
  signal.throwIfAborted();
  const url = new URL(path, server.url);
  url.protocol = url.protocol === 'http:' || url.protocol === 'ws:' ? 'ws:' : 'wss:';
  const options: ClientOptions = {
    ...tls,
    perMessageDeflate: false,
    maxPayload: MAX_RECEIVED_BYTES,
    followRedirects: false,
  };
  return new WebSocket(url, [protocol], options);
}

/** The path of a stream subresource of a host. */
export function hostPath(
  host: string,
  subresource: 'control' | 'dialback',
  query: Readonly<Record<string, string>> = {},
): string {
  const text = new URLSearchParams(query).toString();
  return `/apis/coppice.dev/v1/hosts/${encodeURIComponent(host)}/${subresource}${text && `?${text}`}`;
}
