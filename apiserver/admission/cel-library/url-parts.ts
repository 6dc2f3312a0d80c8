/** An absolute URI or absolute path, in the parts that rules ask for (Go's net/url). */
export class UrlParts {
  readonly scheme: string;
  /** With the port; an IPv6 address is in brackets. */
  readonly host: string;
  readonly escapedPath: string;
  readonly query: string;

  constructor(scheme: string, host: string, escapedPath: string, query: string) {
    this.scheme = scheme;
    this.host = host;
    this.escapedPath = escapedPath;
    this.query = query;
  }

  get hostname(): string {
    const bare = this.port === '' ? this.host.replace(/:$/, '') : this.host.slice(0, -this.port.length - 1);
    return bare.startsWith('[') ? bare.slice(1, bare.indexOf(']')) : bare;
  }

  get port(): string {
    return /:([0-9]*)$/.exec(this.host.slice(this.host.lastIndexOf(']') + 1))?.[1] ?? '';
  }

  toString(): string {
    const host = this.host === '' ? '' : `//${this.host}`;
    return `${this.scheme === '' ? '' : `${this.scheme}:`}${host}${this.escapedPath}${this.query === '' ? '' : `?${this.query}`}`;
  }
}

const CONTROL = /(?![\u0080-\u009f])\p{Cc}/u;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/;
const USER_INFO = /^[A-Za-z0-9._:~!$&'()*+,;=%@-]*$/;
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=<>"-]|[^\0-\x7f])*(?::[0-9]*)?$/;
const BRACKETED = /^\[[0-9A-Fa-f:.]*(?:%25[A-Za-z0-9._~%-]+)?\](?::[0-9]*)?$/;
/** Characters of a path that stay as they are when it is not spelled in a valid way already. */
const PLAIN = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const VALID_PATH = /^(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]]|%[0-9A-Fa-f]{2})*$/;

/** Undefined for a text that is no absolute URI and no absolute path. */
export function parseUrl(text: string): UrlParts | undefined {
  if (text === '' || CONTROL.test(text)) return undefined;
  const scheme = SCHEME.exec(text)?.[0] ?? '';
  const body = text.slice(scheme === '' ? 0 : scheme.length + 1);
  // What was asked for whole is looked at without its fragment, which must be well spelled.
  const hash = body.indexOf('#');
  const fragment = hash < 0 ? '' : body.slice(hash + 1);
  const [rest, query] = cut(hash < 0 ? body : body.slice(0, hash), '?');
  if (!isSpelled(fragment)) return undefined;
  if (!rest.startsWith('/'))
    return scheme === '' || (rest === '' && query === '')
      ? undefined
      : new UrlParts(scheme.toLowerCase(), '', '', query);
  const hasHost = rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'));
  if (!hasHost) return isSpelled(rest) ? new UrlParts(scheme.toLowerCase(), '', escaped(rest), query) : undefined;
  const slash = rest.indexOf('/', 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  const path = slash < 0 ? '' : rest.slice(slash);
  const host = hostOf(authority);
  if (host === undefined || !isSpelled(path)) return undefined;
  return new UrlParts(scheme.toLowerCase(), host, escaped(path), query);
}

function hostOf(authority: string): string | undefined {
  const at = authority.lastIndexOf('@');
  const user = authority.slice(0, Math.max(0, at));
  if (!USER_INFO.test(user) || !isSpelled(user)) return undefined;
  const host = authority.slice(at + 1);
  return (host.startsWith('[') ? BRACKETED : HOST).test(host) ? host.replace('%25', '%') : undefined;
}

/** Whether every percent sign begins the spelling of a byte. */
const isSpelled = (text: string): boolean => !/%(?![0-9A-Fa-f]{2})/.test(text);

function escaped(path: string): string {
  if (VALID_PATH.test(path) || path === '*') return path;
  return Array.from(new TextEncoder().encode(path), (byte) => {
    const character = String.fromCharCode(byte);
    // What is spelled already stays so.
    if (character === '%' || (byte < 0x80 && PLAIN.test(character))) return character;
    return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}

/** The values of a query by key, unescaped. What is badly spelled is left out. */
export function queryOf({ query }: UrlParts): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [key, value] = cut(pair, '=').map(unescaped);
    if (key === undefined || value === undefined) continue;
    const values = found.get(key);
    if (values === undefined) found.set(key, [value]);
    else values.push(value);
  }
  return found;
}

function unescaped(text: string): string | undefined {
  if (!isSpelled(text)) return undefined;
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    // Bytes that are no UTF-8.
    return undefined;
  }
}

function cut(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
