/** The answer to one request, as it goes out: that of HTTP/1.1, or a stream of HTTP/2. */
export interface Outgoing {
  readonly req: { readonly method?: string | undefined };
  /** Null while the answers before it on its connection are not all written. */
  readonly socket: object | null;
  readonly writableFinished: boolean;
  /** Names and values in turn. */
  writeHead(status: number, lines: (string | string[])[]): unknown;
  flushHeaders(): void;
  /** False when it is to be waited for `drain` before the next. */
  write(piece: Uint8Array): boolean;
  end(piece?: Uint8Array): unknown;
  /** Breaks it off, so that nobody takes it for whole. */
  destroy(): unknown;
  once(event: 'close' | 'drain', listener: () => void): unknown;
  removeListener(event: 'close' | 'drain', listener: () => void): unknown;
}
