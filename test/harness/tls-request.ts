import { type RequestOptions, request } from 'node:https';

export interface TlsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A request over TLS, its whole answer read. A body in pieces is sent chunked. */
export function tlsRequest(
  url: string,
  options: RequestOptions & { readonly body?: string | readonly Uint8Array[] } = {},
): Promise<TlsAnswer> {
  return new Promise((resolve, reject) => {
    const { body, ...rest } = options;
    const outgoing = request(url, rest, (incoming) => {
      const pieces: Buffer[] = [];
      incoming.on('data', (piece: Buffer) => pieces.push(piece));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(pieces).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
      });
    });
    outgoing.on('error', reject);
    if (typeof body === 'string') outgoing.end(body);
    else {
      for (const piece of body ?? []) outgoing.write(piece);
      outgoing.end();
    }
  });
}
