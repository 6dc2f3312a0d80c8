import assert from 'node:assert/strict';
import { BUILT_IN_KINDS } from '../../resources/kinds.ts';
import type { Schema } from '../../resources/meta/schema.ts';

function* undescribed(schema: Schema, path: string): Generator<string> {
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.${name}`;
    if ((child.description ?? '') === '') yield at;
    yield* undescribed(child, at);
  }
  if (schema.items !== undefined) yield* undescribed(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') yield* undescribed(schema.additionalProperties, `${path}{}`);
}

describe('built-in kinds', () => {
  for (const kind of BUILT_IN_KINDS) {
    it(`explain every field of ${kind.kind} in a sentence`, () => {
      assert.ok(kind.schema.description);
      assert.ok(Object.keys(kind.schema.properties ?? {}).length > 0);
      assert.deepEqual([...undescribed(kind.schema, kind.kind)], []);
    });
  }
});
