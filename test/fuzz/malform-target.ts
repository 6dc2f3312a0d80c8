import { oddText } from './odd-values.ts';
import type { Random } from './random.ts';
import type { Sample } from './samples.ts';

const NAMESPACES = ['default', 'red', 'n1', 'none'] as const;

/** The path of a collection, an object or a part of one, as it should be. */
export function pathOf(
  random: Random,
  { path, names, subresources }: Sample,
  of: 'collection' | 'object' | 'any',
): string {
  const everywhere = of !== 'object' && random.oneIn(6) ? path.replace('/namespaces/*', '') : path;
  const collection = everywhere.replace('*', random.pick(NAMESPACES));
  if (of === 'collection' || (of === 'any' && random.oneIn(3))) return collection;
  const object = `${collection}/${random.pick(names)}`;
  return subresources.length > 0 && random.oneIn(4) ? `${object}/${random.pick(subresources)}` : object;
}

const SEGMENTS: readonly string[] = [
  '%',
  '%2',
  '%zz',
  '%00',
  '%2e',
  '%2e%2e',
  '..',
  '.',
  '%2f',
  '%5c',
  '%25',
  '%c0%af',
  '%ff',
  '%ed%a0%80',
  '%F0%9F%91%A9',
  '%u0041',
  '%0d%0aX-Injected:%201',
  ';a=b',
  '*',
  '~',
  ':watch',
  'watch',
  'proxy',
  'exec',
  'log',
  'status',
  'scale',
  'token',
  'finalize',
  'namespaces',
  '__proto__',
  'constructor',
  'toString',
  'x'.repeat(5_000),
];

const ROOTS: readonly string[] = [
  '/',
  '//',
  '*',
  '/api',
  '/apis',
  '/api/',
  '/apis/coppice.dev',
  '/apis/coppice.dev/v1',
  '/apis/apps/v1/deployments',
  '/apis/coppice.dev/v9/vms',
  '/version',
  '/version/x',
  '/healthz',
  '/livez/ping',
  '/readyz?verbose&exclude=store',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/apis/coppice.dev/v1?hash=x',
  '/openapi/v3/__proto__',
  '/openid/v1/jwks',
  '/.well-known/openid-configuration',
  '/metrics',
  'http://elsewhere/api/v1/namespaces',
  'https://127.0.0.1:1/version',
  '?watch=1',
  'a',
];

/** A path with something wrong with it. */
export function malformPath(random: Random, path: string): string {
  const segments = path.split('/');
  const at = random.below(segments.length);
  const segment = random.oneIn(3) ? encoded(oddText(random)) : random.pick(SEGMENTS);
  return random.one(
    () => segments.with(at, segment).join('/') || '/',
    () => segments.toSpliced(at, 0, segment).join('/') || '/',
    () => segments.toSpliced(at, 1).join('/') || '/',
    () => path.replaceAll('/', random.pick(['//', '/./', '%2F', '/%2e/'])),
    () => `${path}/`,
    () => `${path}/a/b/c/d/e`,
    () => [...path].map((c) => (c === '/' ? c : `%${c.charCodeAt(0).toString(16)}`)).join(''),
    () => path.toUpperCase(),
    () => random.pick(ROOTS),
    () => `${path}#fragment`,
  );
}

const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  watch: ['1', 'true', 'false', '0', 'yes', ''],
  limit: ['1', '0', '-1', '500', '99999999999999999999', '1e3', '0x1', ' 1'],
  continue: ['', 'x', 'eyJ2IjoxfQ', 'AAAA', 'eyJydiI6MSwic3RhcnQiOiJhIn0=', '%%%', 'bnVsbA', 'W10', 'e30'],
  resourceVersion: ['', '0', '1', '2', '-1', 'x', '01', '1.5'],
  resourceVersionMatch: ['', 'Exact', 'NotOlderThan', 'exact', 'x'],
  sendInitialEvents: ['true', 'false', '', 'x'],
  allowWatchBookmarks: ['true', 'false', 'x'],
  labelSelector: [
    'a=b',
    'a==b,c!=d',
    'a in (b,c),!d',
    'a notin ()',
    'a in (',
    '!',
    ',',
    'a=b=c',
    '(((((((',
    'a>1',
    'a<x',
    `${'a,'.repeat(3_000)}b`,
    'a in (b',
    'é=ü',
    '\0',
  ],
  fieldSelector: [
    'metadata.name=a',
    'metadata.namespace!=b',
    'spec.hostName=',
    'status.phase==Running',
    'spec.name=a',
    'x=y',
    'metadata.name',
    '=',
    'metadata.name=a,metadata.name=b',
    'metadata.name=\\,\\\\',
    'metadata.name=\\x',
    `${'metadata.name=a,'.repeat(2_000)}`,
    '__proto__=x',
    'constructor=x',
  ],
  dryRun: ['All', '', 'all', 'None', 'true'],
  fieldValidation: ['Strict', 'Warn', 'Ignore', '', 'strict', 'x'],
  fieldManager: ['a', '', 'x'.repeat(129), '\0', '\n', 'ключ', '\u202e'],
  force: ['true', 'false', '', 'x'],
  timeoutSeconds: ['1', '0', '-1', '99999999999', '2147483648', 'x', '1.5'],
  timeout: ['1s', '32s', 'x', '-1s', '0'],
  includeObject: ['None', 'Metadata', 'Object', 'x', ''],
  propagationPolicy: ['Foreground', 'Background', 'Orphan', '', 'x'],
  gracePeriodSeconds: ['0', '-1', 'x', '99999999999999999999'],
  orphanDependents: ['true', 'false', 'x'],
  pretty: ['true', 'x'],
  hash: ['x', ''],
  command: ['uname', '', '\0'],
  stdin: ['true'],
  tty: ['true', 'x'],
  follow: ['true'],
  tailLines: ['1', '-1', 'x', '99999999999999999999'],
  ticket: ['x', ''],
  verbose: [''],
};
const NAMES = Object.keys(OPTIONS);

/** A query of options that are there, with values right and wrong, given once or again and again. */
export function oddQuery(random: Random): string {
  if (random.oneIn(40))
    return `?${random.pick(['&', '=', '%', '&&&===', '?', '%zz=%zz', '+', '\\', '#', `a=${'x'.repeat(20_000)}`])}`;
  const parts: string[] = [];
  for (let i = random.below(4); i > 0; i--) {
    const name = random.pick(NAMES);
    // A stream is read to its end only where its end is near.
    const value = random.oneIn(5) ? oddText(random) : random.pick(OPTIONS[name] ?? []);
    const part = `${random.oneIn(30) ? name.toUpperCase() : name}=${encoded(value)}`;
    for (let times = part.length < 60 && random.oneIn(20) ? random.pick([2, 3, 1_000]) : 1; times > 0; times--)
      parts.push(part);
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Percent-encoded, also what is no Unicode. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());
