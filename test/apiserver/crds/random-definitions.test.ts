import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadAll } from 'js-yaml';
import { type Logger, silentLogger } from '../../../resources/ambient/log.ts';
import { isObject, type JsonObject, valueAt } from '../../../resources/meta/object.ts';
import { CRDS, CrdServer, definition, MERGE, schema, version } from './crd-server.ts';

const RICH = definition(
  {
    versions: [
      version('v1', {
        subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
        additionalPrinterColumns: [{ name: 'N', type: 'integer', jsonPath: '.spec.n' }],
        selectableFields: [{ jsonPath: '.spec.a' }],
        schema: schema(
          {
            type: 'object',
            required: ['n'],
            'x-kubernetes-validations': [{ rule: 'self.n < 100', message: 'too many' }],
            properties: {
              a: { type: 'string', pattern: '^[a-z]*$', default: 'x', enum: ['x', 'y'], maxLength: 3 },
              n: { type: 'integer', minimum: 0, multipleOf: 1, format: 'int32' },
              any: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
              list: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['k'],
                items: { type: 'object', required: ['k'], properties: { k: { type: 'string' } } },
              },
              map: { type: 'object', additionalProperties: { type: 'number', nullable: true } },
              free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, default: { b: 1 } },
            },
          },
          { status: { type: 'object', properties: { n: { type: 'integer' } } } },
        ),
      }),
      version('v2', { storage: false }),
    ],
  },
  { shortNames: ['th'], categories: ['all'] },
);
const [RECORDED] = loadAll(readFileSync(join(import.meta.dirname, '../../kubectl/files/crds.yaml'), 'utf8'));

/** Every path into a value. */
function* pathsOf(value: unknown, path: readonly string[] = []): Iterable<readonly string[]> {
  if (path.length > 0) yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, child] of Object.entries(value)) yield* pathsOf(child, [...path, name]);
}

function replaced(value: unknown, [name, ...rest]: readonly string[], made: unknown): unknown {
  if (name === undefined) return made;
  if (Array.isArray(value)) return value.map((item, i) => (String(i) === name ? replaced(item, rest, made) : item));
  return isObject(value) ? { ...value, [name]: replaced(value[name], rest, made) } : value;
}

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    null,
    '',
    0,
    -1,
    1.5,
    1e300,
    true,
    [],
    {},
    [[]],
    [null],
    '(',
    '(?=a)',
    '.a[',
    'self.',
    'v1',
    'object',
    'array',
    'string',
    { type: 'object' },
    { type: 'array', items: { type: 'object' } },
    { type: 'string', default: 5 },
    [{ rule: 'self' }, { rule: 5 }],
    { constructor: { type: 'string' }, toString: { type: 'integer' } },
    { $ref: '#' },
  ),
);
const mutated = fc.constantFrom<unknown>(RICH, RECORDED).chain((from) => {
  const paths = [...pathsOf(from)].filter((path) => path[0] !== 'apiVersion' && path[0] !== 'kind');
  // A field that is left out is more often still something to serve than one of another shape.
  const change = fc.tuple(fc.constantFrom(...paths), fc.oneof(fc.constant(undefined), odd));
  return fc
    .array(change, { maxLength: 3 })
    .map((changes) => changes.reduce<unknown>((object, [path, made]) => replaced(object, path, made), from));
});

describe('random CustomResourceDefinitions', () => {
  it('are refused or served, and whatever is served answers', async function () {
    this.timeout(60_000);
    const failures: string[] = [];
    const log: Logger = {
      ...silentLogger,
      error: (message, fields) => failures.push(`${message} ${JSON.stringify(fields)}`),
    };
    await using server = await CrdServer.start({ log });
    const counts = { refused: 0, served: 0 };
    await fc.assert(
      fc.asyncProperty(mutated, odd, async (object, spec) => {
        const { status, body, text } = await server.send('POST', CRDS, object);
        assert.ok(status < 500, `${JSON.stringify(object)}: ${text}`);
        if (status !== 201) {
          counts.refused++;
          return;
        }
        counts.served++;
        await serves(server, body as JsonObject, spec);
        const url = `${CRDS}/${String(body.metadata?.name)}`;
        await server.ok('DELETE', url);
        await server.ok('PATCH', url, { metadata: { finalizers: null } }, MERGE);
      }),
      { numRuns: 300, seed: 7 },
    );
    assert.deepEqual(failures, []);
    assert.ok(counts.refused > 80 && counts.served > 40, JSON.stringify(counts));
  });
});

/** Documents, lists and writes of a kind that was accepted: none fails inside. */
async function serves(server: CrdServer, crd: JsonObject, spec: unknown): Promise<void> {
  const group = String(valueAt(crd, ['spec', 'group']));
  const { kind, plural } = valueAt(crd, ['status', 'acceptedNames']) as { kind: string; plural: string };
  const versions = (valueAt(crd, ['spec', 'versions']) as { name: string; served: boolean }[]).filter((v) => v.served);
  const space = valueAt(crd, ['spec', 'scope']) === 'Namespaced' ? '/namespaces/default' : '';
  for (const { name } of versions) {
    const apiVersion = `${group}/${name}`;
    const objects = `/apis/${apiVersion}${space}/${plural}`;
    const answers = [
      await server.send('GET', '/apis'),
      await server.send('GET', `/openapi/v3/apis/${apiVersion}`),
      await server.send('POST', objects, { apiVersion, kind, metadata: { name: 'x' }, spec }),
      await server.send('POST', objects, { apiVersion, kind, metadata: { name: 'y' }, spec: { n: 1, size: 'small' } }),
      await server.send('GET', objects),
      await server.send('GET', objects, undefined, undefined, {
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      }),
      await server.send('DELETE', objects),
    ];
    for (const answer of answers) assert.ok(answer.status < 500, `${JSON.stringify(crd)}: ${answer.text}`);
    assert.equal(answers[1]?.status, 200);
  }
}
