/** All a new server needs to be let in, as one word. */
interface JoinLine {
  /** What it shows. */
  readonly token: string;
  /** SHA-256 of the public keys of the authorities, one of which the server that it asks must be of; in hex. */
  readonly authorities: readonly string[];
  /** Where the server was reached from where the token was made. */
  readonly server: string;
}

const LINE = /^(coppice-join\.[0-9a-f]{64})\.([0-9a-f]{64}(?:\+[0-9a-f]{64})*)\.([A-Za-z0-9_-]+)$/;

export function formatJoinLine({ token, authorities, server }: JoinLine): string {
  return `${token}.${authorities.join('+')}.${Buffer.from(server).toString('base64url')}`;
}

/** Undefined when it is none. */
export function parseJoinLine(text: string): JoinLine | undefined {
  const [, token, authorities, server] = LINE.exec(text.trim()) ?? [];
  if (token === undefined || authorities === undefined || server === undefined) return undefined;
  return { token, authorities: authorities.split('+'), server: Buffer.from(server, 'base64url').toString() };
}
