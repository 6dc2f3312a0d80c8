import type { Identity } from '../auth/identity.ts';
import type { Eventual } from '../eventual.ts';

/** What a caller showed. In-process callers are known already; on the wire a bearer token or a client certificate speaks. */
export type Credential =
  | { readonly kind: 'identity'; readonly identity: Identity }
  | {
      readonly kind: 'wire';
      readonly bearer?: string | undefined;
      /** Subject of a client certificate that chains to our CA. */
      readonly certificate?:
        | {
            readonly commonName: string;
            readonly organizations: readonly string[];
            readonly serial: string;
          }
        | undefined;
    };

/** Whose requests are bounded together: what service accounts send never crowds out who runs the server. */
export type Crowd = 'operators' | 'others';

/** Who waits for an answer. */
export interface Caller {
  /** Aborts when the caller goes away. Only asked for before something waits: it may be made then. */
  readonly signal: AbortSignal;
}

/** A request as the app sees it, wherever it came from. */
export interface ServerRequest extends Caller {
  readonly method: string;
  /** Decoded only segment by segment, by the route parser. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  /** The lines of headers that mean something line by line (`impersonate-*`), where they came off the wire. */
  readonly repeated?: Readonly<Record<string, readonly string[]>> | undefined;
  /**
   * The whole body. Throws `RequestEntityTooLarge` beyond `maxBytes`, and `TooManyRequests` while the bodies under way take all the room of their
   * crowd.
   */
  body(maxBytes: number, crowd?: Crowd): Promise<Uint8Array>;
  readonly credential: Credential;
}

export interface ServerResponse {
  readonly status: number;
  /** Names in lowercase. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** One piece, or pieces as they come (a watch, a large list). */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** The body goes on as things happen: it is neither held back nor compressed. */
  readonly live?: true;
}

/** The app: everything behind the listener, without a socket. */
export type App = (request: ServerRequest) => Eventual<ServerResponse>;
