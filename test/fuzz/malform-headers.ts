import { oddText } from './odd-values.ts';
import type { Random } from './random.ts';

export type HeaderLine = readonly [name: string, value: string];

const ACCEPTS: readonly string[] = [
  '*/*',
  'application/json',
  'application/yaml',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json;q=0.1',
  'application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io',
  'application/json;as=__proto__;v=constructor;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'text/html,application/xhtml+xml',
  ';q=x',
  'a;=b',
  ',,,,',
  'application/json;q=-1',
  'application/json;q=1e999',
  'application/json;as="Table',
  '*/json',
  ' ',
  `application/json${';a=b'.repeat(500)}`,
  `${'text/a,'.repeat(1_500)}application/json`,
];

const CONTENT_TYPES: readonly string[] = [
  'application/json',
  'application/json; charset=utf-16',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
  'APPLICATION/JSON',
  'text/plain',
  'multipart/form-data; boundary=x',
  ';;',
  '/',
  'application/json, application/yaml',
  'application/json;'.repeat(300),
];

const IDENTITIES: readonly string[] = [
  'operator',
  'coppice:host:a',
  'system:serviceaccount:default:a',
  'system:anonymous',
  'system:masters',
  'coppice:tenant:red',
  '',
  'a,b',
];

const OTHERS: readonly ((random: Random) => HeaderLine)[] = [
  (random) => ['accept', random.pick(ACCEPTS)],
  (random) => ['accept', random.pick(ACCEPTS)],
  (random) => ['content-type', random.pick(CONTENT_TYPES)],
  (random) => ['accept-encoding', random.pick(['gzip', 'gzip;q=0', 'br, gzip', '*', 'identity', ', ,gzip ;x'])],
  (random) => ['content-encoding', random.pick(['gzip', 'br', 'identity', 'x'])],
  (random) => ['if-none-match', random.pick(['*', '"x"', 'W/"x"', 'x', ',,"', `"${'a'.repeat(9_000)}"`])],
  (random) => ['if-match', random.pick(['*', '"x"'])],
  (random) => ['range', random.pick(['bytes=0-1', 'x'])],
  (random) => ['idempotency-key', random.pick(['k1', 'k2', 'k3', 'k4', ' ', 'ключ', 'x'.repeat(256)])],
  (random) => ['impersonate-user', random.pick(IDENTITIES)],
  (random) => ['impersonate-group', random.pick(IDENTITIES)],
  (random) => ['impersonate-uid', random.pick(IDENTITIES)],
  (random) => [`impersonate-extra-${random.pick(['a', '%41', '%', '__proto__', ''])}`, random.pick(IDENTITIES)],
  (random) => ['impersonate-x', random.pick(IDENTITIES)],
  (random) => ['expect', random.pick(['100-continue', 'x', '200-ok'])],
  (random) => ['host', random.pick(['', 'x', 'a:99999', '[::1', 'x/y', 'x'.repeat(300), '\xff'])],
  (random) => ['user-agent', random.pick(['', 'kubectl/v1.32', '\xff\xfe', 'a/b/c', 'x'.repeat(3_000)])],
  (random) => ['x-forwarded-for', random.pick(['127.0.0.1', 'x'])],
  (random) => ['x-http-method-override', random.pick(['DELETE', 'x'])],
  (random) => ['origin', random.pick(['null', 'https://x'])],
  (random) => ['cookie', `a=${latin(oddText(random))}`],
  (random) => ['traceparent', latin(oddText(random))],
  (random) => [random.pick(['__proto__', 'constructor', 'tostring', 'x-odd']), latin(oddText(random))],
  () => ['x-long', 'x'.repeat(60_000)],
];

/** Credentials that are none, or not enough. */
const CREDENTIALS: readonly string[] = [
  'Bearer',
  'Bearer ',
  'Bearer x',
  'Bearer a.b.c',
  'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.',
  'Bearer eyJhbGciOiJFUzI1NiJ9.e30.AAAA',
  'Bearer ..',
  `Bearer ${'x'.repeat(20_000)}`,
  'Basic b3BlcmF0b3I6eA==',
  'bearer x y',
  'Negotiate',
  '\xff',
];

/** What a header line may hold: bytes but no line ends. */
const latin = (text: string): string =>
  Buffer.from(text.toWellFormed(), 'utf8')
    .toString('latin1')
    .replace(/[\r\n\0]/g, '?');

/** Headers beside the ones a right request has: `authorization` is the right one, and mostly there. */
export function oddHeaders(random: Random, authorization: string): HeaderLine[] {
  const lines: HeaderLine[] = [['host', '127.0.0.1']];
  if (!random.oneIn(25)) lines.push(['authorization', random.oneIn(25) ? random.pick(CREDENTIALS) : authorization]);
  for (let i = random.below(3); i > 0; i--) lines.push(random.pick(OTHERS)(random));
  if (random.oneIn(60)) for (let i = 0; i < 300; i++) lines.push([`x-${i}`, 'y']);
  if (random.oneIn(40)) lines.push(...lines.slice(-1), ...lines.slice(-1));
  return lines;
}
