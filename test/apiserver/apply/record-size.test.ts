import assert from 'node:assert/strict';
import { encodeFields } from '../../../apiserver/apply/field-set.ts';
import { mergeTypeOf } from '../../../apiserver/apply/merge-type.ts';
import { checkRecordSize } from '../../../apiserver/apply/record-size.ts';
import { toFieldSet } from '../../../apiserver/apply/to-field-set.ts';
import { encodeJson } from '../../../resources/meta/json.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';
import type { Schema } from '../../../resources/meta/schema.ts';
import { CRDS, CrdServer, definition, schema, THINGS, version } from '../crds/crd-server.ts';

const PARTS: Schema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, size: { type: 'integer' } } },
};
const TYPE = mergeTypeOf({
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { parts: PARTS } } } },
});
const APPLY = 'application/apply-patch+yaml';

const thing = (count: number): JsonObject => ({
  apiVersion: 'test.example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a' },
  spec: { parts: Array.from({ length: count }, (_, i) => ({ name: `part-${i}` })) },
});

describe('the size of a record of owned fields', () => {
  it('is refused exactly when the object and its record are more than the store takes', () => {
    const taken = (count: number) => {
      const config = thing(count);
      return encodeJson(config).length + encodeJson(encodeFields(toFieldSet(config, TYPE))).length;
    };
    const count = 20_000;
    assert.ok(taken(count) < 1_600_000 && taken(count * 2) > 1_500_000);
    for (let n = 15_000; n < 25_000; n += 500) {
      const refused = (() => {
        try {
          checkRecordSize(thing(n), TYPE);
          return false;
        } catch {
          return true;
        }
      })();
      const bytes = taken(n);
      if (bytes < 1_480_000) assert.equal(refused, false, `${n} items, ${bytes} bytes`);
      if (bytes > 1_520_000) assert.equal(refused, true, `${n} items, ${bytes} bytes`);
    }
  });

  it('is told of before anything is merged, for an apply and a create alike', async () => {
    await using server = await CrdServer.start();
    const spec = { type: 'object', properties: { parts: PARTS } };
    await server.ok('POST', CRDS, definition({ versions: [version('v1', { schema: schema(spec as JsonObject) })] }));
    for (const [method, url, type] of [
      ['PATCH', `${THINGS}/a?fieldManager=m`, APPLY],
      ['POST', THINGS, undefined],
    ] as const) {
      const { status, body } = await server.send(method, url, thing(40_000), type);
      assert.equal(status, 413);
      assert.match(body.message ?? '', /record of owned fields/);
    }
    await server.ok('PATCH', `${THINGS}/a?fieldManager=m`, thing(1_000), APPLY);
  });

  it('leaves who owns a field without a change of it without a time, as the real server does', async () => {
    await using server = await CrdServer.start();
    await server.ok('POST', CRDS, definition());
    const config = { apiVersion: 'test.example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: { size: 1 } };
    await server.ok('PATCH', `${THINGS}/a?fieldManager=one`, config, APPLY);
    const both = await server.ok('PATCH', `${THINGS}/a?fieldManager=two`, config, APPLY);
    const entries = both.metadata?.managedFields as { manager: string; time?: string }[];
    const timed = new Map(entries.map(({ manager, time }) => [manager, time !== undefined]));
    assert.deepEqual([timed.get('one'), timed.get('two')], [true, false]);
  });
});
