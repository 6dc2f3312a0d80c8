import { type Body, deleteBody, objectBody, patchBody, protobufBody, scaleBody } from './malform-body.ts';
import { type HeaderLine, oddHeaders } from './malform-headers.ts';
import { malformBytes } from './malform-json.ts';
import { malformPath, oddQuery, pathOf } from './malform-target.ts';
import type { Random } from './random.ts';
import { PROTOBUF, SAMPLES, type Sample } from './samples.ts';

/** How a request goes over the wire. `whole`: HTTP as it should be framed, answered on the same connection. The others get a connection of their own. */
type Manner = 'whole' | 'pieces' | 'pipelined' | 'upgrade' | 'half-closed' | 'dropped' | 'misframed';

export interface Asked {
  readonly method: string;
  readonly target: string;
}

export interface FuzzRequest {
  readonly number: number;
  readonly manner: Manner;
  readonly bytes: Buffer;
  /** What is asked in the bytes, in order: more than once where requests are pipelined. */
  readonly asked: readonly Asked[];
}

interface Draft extends Asked {
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer | undefined;
}

const METHODS: readonly string[] = [
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'M-SEARCH',
  'get',
  'Post',
  'constructor',
  '__proto__',
  'X'.repeat(3_000),
  'G\x00T',
  '',
];

/** Makes malformed requests, each as its own number and the seed say. */
export class FuzzRequests {
  readonly #random: Random;
  readonly #authorization: string;

  constructor(random: Random, authorization: string) {
    this.#random = random;
    this.#authorization = authorization;
  }

  make(number: number): FuzzRequest {
    const random = this.#random.fork();
    const draft = this.#draft(random);
    const manner = mannerOf(random);
    const as = (bytes: Buffer, asked: readonly Asked[] = [draft]) => ({ number, manner, bytes, asked });
    switch (manner) {
      case 'pipelined': {
        const count = 2 + random.below(4);
        const all = [draft, ...Array.from({ length: count - 1 }, () => this.#draft(random))];
        return as(Buffer.concat(all.map(framed)), all);
      }
      case 'upgrade': {
        const method = random.oneIn(6) ? draft.method : 'GET';
        const asked = { ...draft, method, headers: upgrading(random, draft.headers) };
        return as(framed(asked), [asked]);
      }
      case 'misframed':
        return as(misframed(random, draft));
      case 'dropped': {
        const bytes = framed(draft);
        return as(bytes.subarray(0, random.oneIn(2) ? bytes.length : random.below(bytes.length)));
      }
      default:
        return as(framed(draft));
    }
  }

  #draft(random: Random): Draft {
    const headers = oddHeaders(random, this.#authorization);
    if (random.oneIn(12)) {
      const { url, bytes } = random.pick(PROTOBUF);
      return withBody('POST', url, headers, protobufBody(random, bytes), random);
    }
    const sample = random.pick(SAMPLES);
    const drawn = draw(random, sample);
    const path = random.oneIn(8) ? malformPath(random, drawn.path) : drawn.path;
    const query = drawn.apply === true && !random.oneIn(4) ? '?fieldManager=f&force=true' : oddQuery(random);
    const method = random.oneIn(40) ? random.pick(METHODS) : drawn.method;
    return withBody(method, path + query, headers, drawn.body, random);
  }
}

interface Drawn {
  readonly method: string;
  readonly path: string;
  readonly body: Body | undefined;
  readonly apply?: boolean;
}

function draw(random: Random, sample: Sample): Drawn {
  const object = () => pathOf(random, sample, 'object');
  const collection = () => pathOf(random, sample, 'collection');
  const write = (method: string, path: string, body: Body): Drawn => ({ method, path, body });
  const patch = (): Drawn => {
    const body = patchBody(random, sample);
    return { ...write('PATCH', object(), body), apply: body.type.includes('apply') };
  };
  return random.one<Drawn>(
    () => write('POST', collection(), objectBody(random, sample)),
    () => write('POST', collection(), objectBody(random, sample)),
    () => write('PUT', object(), objectBody(random, sample)),
    patch,
    patch,
    () => write(random.pick(['PUT', 'PATCH']), `${object()}/scale`, scaleBody(random)),
    () => write('DELETE', random.oneIn(8) ? collection() : object(), deleteBody(random)),
    () => ({ method: 'DELETE', path: random.oneIn(8) ? collection() : object(), body: undefined }),
    () => ({ method: random.pick(['GET', 'GET', 'HEAD']), path: pathOf(random, sample, 'any'), body: undefined }),
    () =>
      write(
        random.pick(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']),
        pathOf(random, sample, 'any'),
        objectBody(random, sample),
      ),
  );
}

function withBody(
  method: string,
  target: string,
  headers: readonly HeaderLine[],
  body: Body | undefined,
  random: Random,
): Draft {
  if (body === undefined) return { method, target, headers, body: undefined };
  const typed = random.oneIn(20) || headers.some(([name]) => name === 'content-type');
  return { method, target, headers: typed ? headers : [...headers, ['content-type', body.type]], body: body.bytes };
}

function mannerOf(random: Random): Manner {
  const dice = random.below(100);
  if (dice < 80) return 'whole';
  if (dice < 84) return 'pieces';
  if (dice < 88) return 'pipelined';
  if (dice < 91) return 'upgrade';
  if (dice < 93) return 'half-closed';
  if (dice < 96) return 'dropped';
  return 'misframed';
}

function upgrading(random: Random, headers: readonly HeaderLine[]): HeaderLine[] {
  const key = random.pick(['dGhlIHNhbXBsZSBub25jZQ==', 'x', '', 'x'.repeat(2_000)]);
  const protocol = random.pick(['v5.channel.k8s.io', 'v4.channel.k8s.io', 'control.coppice.dev', ',', '']);
  const right: HeaderLine[] = [
    ['connection', random.oneIn(8) ? 'keep-alive, Upgrade' : 'Upgrade'],
    ['upgrade', random.pick(['websocket', 'websocket', 'websocket', 'h2c', 'SPDY/3.1', 'x'])],
    ['sec-websocket-version', random.pick(['13', '13', '8', 'x'])],
    ['sec-websocket-key', key],
    ['sec-websocket-protocol', protocol],
    ['sec-websocket-extensions', random.pick(['permessage-deflate', 'x; y=";', ''])],
  ];
  return [...headers, ...right.filter(() => !random.oneIn(12))];
}

function framed({ method, target, headers, body }: Draft): Buffer {
  const length: HeaderLine[] = body === undefined ? [] : [['content-length', String(body.length)]];
  return written(method, target, 'HTTP/1.1', [...headers, ...length], body);
}

function written(
  method: string,
  target: string,
  version: string,
  headers: readonly HeaderLine[],
  body: Buffer = Buffer.alloc(0),
): Buffer {
  const lines = [`${method} ${target} ${version}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

/** A request whose framing is wrong: lengths that contradict each other, chunks that are none, bytes changed anywhere. */
function misframed(random: Random, { method, target, headers, body = Buffer.from('{}') }: Draft): Buffer {
  const as = (lines: readonly HeaderLine[], sent: Buffer, version = 'HTTP/1.1') =>
    written(method, target, version, [...headers, ...lines], sent);
  const chunked: HeaderLine = ['transfer-encoding', 'chunked'];
  const chunks = (text: string) => Buffer.from(text, 'latin1');
  const hex = body.length.toString(16);
  return random.one(
    () => as([['content-length', String(body.length)], chunked], body),
    () =>
      as(
        [
          ['content-length', String(body.length)],
          ['content-length', '1'],
        ],
        body,
      ),
    () =>
      as([['content-length', random.pick(['-1', '+1', '0x10', '1e1', '99999999999999999999', 'x', '1, 1', ''])]], body),
    () => as([['content-length', String(body.length + 5)]], body),
    () => as([['content-length', String(Math.max(0, body.length - 3))]], body),
    () => as([['transfer-encoding', random.pick(['gzip', 'identity', 'chunked, gzip', 'xchunked', ' chunked'])]], body),
    () => as([chunked], chunks(`${hex}\r\n${body.toString('latin1')}\r\n0\r\n\r\n`)),
    () => as([chunked], chunks(`${hex};ext="x"\r\n${body.toString('latin1')}\r\n0\r\ntrailer: x\r\n\r\n`)),
    () => as([chunked], chunks(`fffffffffffffffff\r\n${body.toString('latin1')}`)),
    () => as([chunked], chunks(random.pick(['zz\r\n', '-1\r\n', '5\r\nabc', '0\n\n', '\r\n\r\n', '1;'.repeat(9_000)]))),
    () => as([], body, random.pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', ''])),
    () => as([[random.pick(['bad name', 'a\0b', '', 'ä']), 'x']], body),
    () => as([['x', random.pick(['a\nb', 'a\rb', 'a\0b', 'a\r\n folded'])]], body),
    () => Buffer.concat([chunks('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), random.bytes(20)]),
    () => random.bytes(1 + random.below(200)),
    () => malformBytes(random, framed({ method, target, headers, body })),
  );
}

const SHOWN_BYTES = 2_000;

/** A request as text that can be sent again: the bytes in quotes as JSON has them, latin1. */
export function replayable({ number, manner, bytes }: FuzzRequest): string {
  const shown = bytes.subarray(0, SHOWN_BYTES).toString('latin1');
  const more = bytes.length > SHOWN_BYTES ? ` … and ${bytes.length - SHOWN_BYTES} bytes more` : '';
  return `request ${number}, ${manner}: ${JSON.stringify(shown)}${more}`;
}
