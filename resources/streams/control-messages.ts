/**
 * What server and nodelet say on the control socket: JSON text messages over a WebSocket that the nodelet opens at
 * `/apis/coppice.dev/v1/hosts/NAME/control` and keeps. For each stream the server sends `dial`; the nodelet then opens a fresh WebSocket at
 * `/apis/coppice.dev/v1/hosts/NAME/dialback?ticket=…`, and the server joins it with the client's. A ticket serves once, for ten seconds.
 * The server pings every `PING_INTERVAL_MS`; a nodelet that hears nothing for three intervals reconnects.
 *
 * `?instance=…&where=…` tells one nodelet process from another that has the same identity, such as that of a copied home. While one is at work, or may be,
 * the other is refused (409 at the handshake, `SECOND_NODELET_CLOSE` later on), and must not act. A socket without `instance` is not told apart.
 */
export type ServerMessage = { readonly type: 'dial'; readonly ticket: string; readonly stream: StreamRequest };

export const CONTROL_PROTOCOL = 'control.coppice.dev';
export const DIALBACK_PROTOCOL = 'dialback.coppice.dev';
/** What a server opens at another, at `/apis/coppice.dev/v1/hosts/NAME/relay?stream=…`, for one stream of a host whose control socket the other holds. */
export const RELAY_PROTOCOL = 'relay.coppice.dev';
export const PING_INTERVAL_MS = 10_000;
export const TICKET_LIFETIME_MS = 10_000;

/**
 * A stream on one guest. `exec`: channel frames both ways; the nodelet sends the exit Status on channel 3 and closes (code 1000).
 * `logs`: raw bytes from the nodelet in binary messages, then close. A nodelet that cannot serve it closes with 4404 (no such guest),
 * 4409 (not running), 4410 (the guest or its agent went away while it ran), 4503 (agent not available) or 4500 (anything else), and a sentence as the reason (at most 120 bytes).
 */
export type StreamRequest =
  | {
      readonly kind: 'exec';
      readonly guestID: string;
      readonly command: readonly string[];
      readonly stdin: boolean;
      readonly tty: boolean;
    }
  | { readonly kind: 'logs'; readonly guestID: string; readonly tailLines?: number; readonly follow: boolean };

export const STREAM_CLOSE = {
  done: 1000,
  noSuchGuest: 4404,
  notRunning: 4409,
  broken: 4410,
  noAgent: 4503,
  failed: 4500,
} as const;

/** Closes a control socket whose host another nodelet process speaks for. */
export const SECOND_NODELET_CLOSE = 4409;
/** The nodelet process that speaks for a host, and where people find it: annotations of the host's Lease. */
export const INSTANCE_ANNOTATION = 'coppice.dev/nodelet-instance';
export const WHERE_ANNOTATION = 'coppice.dev/nodelet-where';

/** The coordination Lease that says whether a host's control socket is up: written by the server on change and every minute. */
export const HOST_LEASE_NAMESPACE = 'coppice-system';
/** `holderIdentity` is the server that holds the socket; absent when nobody does. */
export const hostLeaseName = (host: string): string => `host-${host}`;
export const HOST_LEASE_RENEWAL_MS = 60_000;
