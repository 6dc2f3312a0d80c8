import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { CRDS, CrdServer, definition, schema, THINGS, thing, version } from './crd-server.ts';

const fields = (count: number, of: (i: number) => JsonObject): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, of(i)]));
const heavy = (properties: JsonObject) =>
  definition({ versions: [version('v1', { schema: schema({ type: 'object', properties }) })] });

/** How often others had a turn while something was done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let done = false;
  const ended = work.finally(() => {
    done = true;
  });
  for (; !done; turns++) await nextTurn();
  await ended;
  return turns;
}

describe('a definition that takes long to compile', () => {
  it('lets others have their turn while its rules are compiled, and is judged by every one of them', async () => {
    await using server = await CrdServer.start();
    const rules = (i: number) => ({
      type: 'string',
      maxLength: 9,
      'x-kubernetes-validations': [{ rule: `self != 'bad${i}'` }],
    });
    const light = await turnsDuring(server.ok('POST', CRDS, heavy(fields(3, rules)), undefined));
    await server.ok(
      'PATCH',
      `${CRDS}/things.test.example.com`,
      { metadata: { labels: { a: 'b' } } },
      'application/merge-patch+json',
    );
    const wider = { spec: heavy(fields(800, rules)).spec };
    const turns = await turnsDuring(
      server.ok('PATCH', `${CRDS}/things.test.example.com`, wider, 'application/merge-patch+json'),
    );
    assert.ok(turns >= light + 40, `${turns} turns, where ${light} are had for few rules`);
    await server.ok('POST', THINGS, thing('good', { spec: { f7: 'bad8' } }));
    assert.deepEqual(await server.refused('POST', THINGS, thing('bad', { spec: { f799: 'bad799' } })), ['spec.f799']);
  });

  it('is refused with the place of each pattern and rule that does not compile', async () => {
    await using server = await CrdServer.start();
    const place = 'spec.versions[0].schema.openAPIV3Schema.properties[spec]';
    const patterns = fields(100, (i) => ({ type: 'string', pattern: i % 50 === 49 ? '(' : `^v${i}$` }));
    assert.deepEqual(await server.refused('POST', CRDS, heavy(patterns)), [
      `${place}.properties[f49].pattern`,
      `${place}.properties[f99].pattern`,
    ]);
    const rules = fields(100, (i) => ({
      type: 'string',
      'x-kubernetes-validations': [{ rule: i === 99 ? '(' : 'true' }],
    }));
    const at = `${place}.properties[f99].x-kubernetes-validations[0].rule`;
    assert.deepEqual(await server.refused('POST', CRDS, heavy(rules)), [at]);
  });

  it('is refused when it has more rules or longer patterns than can be compiled within a request', async () => {
    await using server = await CrdServer.start();
    const rules = fields(2_001, () => ({ type: 'string', 'x-kubernetes-validations': [{ rule: 'true' }] }));
    assert.deepEqual(await server.refused('POST', CRDS, heavy(rules)), ['spec.versions']);
    const patterns = fields(60, (i) => ({ type: 'string', pattern: `^v${i}[a-z]{0,1000}${'[a-z]{1000}'.repeat(9)}$` }));
    assert.deepEqual(await server.refused('POST', CRDS, heavy(patterns)), ['spec.versions']);
  });
});

describe('defaults that multiply', () => {
  const LONG = 'x'.repeat(400_000);
  const items = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'string', default: LONG } } };

  it('are refused once they are longer than what can be stored', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, heavy({ list: { type: 'array', items } }));
    await server.ok('POST', THINGS, thing('few', { spec: { list: [{}, {}] } }));
    const many = await server.send('POST', THINGS, thing('many', { spec: { list: Array(100_000).fill({}) } }));
    assert.equal(many.status, 413, many.text);
  });

  it('do not keep objects from being read that were there before', async () => {
    await using server = await CrdServer.start();
    const { properties, ...rest } = items;
    const plain = { ...rest, properties: { a: properties.a } };
    await server.ok('POST', CRDS, heavy({ list: { type: 'array', items: plain } }));
    await server.ok('POST', THINGS, thing('old', { spec: { list: Array(20).fill({ a: 1 }) } }));
    const { spec } = heavy({ list: { type: 'array', items } });
    await server.ok('PATCH', `${CRDS}/things.test.example.com`, { spec }, 'application/merge-patch+json');
    const read = await server.ok('GET', `${THINGS}/old`);
    assert.deepEqual((read.spec as { list: unknown[] }).list[0], { a: 1 });
    await server.ok('GET', THINGS);
  });
});
