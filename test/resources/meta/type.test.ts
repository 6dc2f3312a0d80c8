import assert from 'node:assert/strict';
import { Type as TypeBox } from 'typebox';
import { Type } from '../../../resources/meta/type.ts';

/** The same schema by either builder. */
function sample(of: typeof Type) {
  const word = of.String({ description: 'a word', pattern: '^[a-z]+$' });
  return of.Object(
    {
      word,
      again: of.Optional(word),
      flag: of.Optional(of.Boolean()),
      counts: of.Array(of.Integer({ minimum: 0 }), { maxItems: 3, 'x-kubernetes-list-type': 'set' }),
      inner: of.Optional(of.Object({ all: of.Optional(of.String()) }, { description: 'nothing is required here' })),
      free: of.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: word }),
    },
    { description: 'a sample' },
  );
}

describe('the builder of schemas', () => {
  it('makes what TypeBox makes, as JSON', () => {
    assert.equal(JSON.stringify(sample(Type)), JSON.stringify(sample(TypeBox)));
  });

  it('leaves a schema that is optional in one place required in another', () => {
    assert.deepEqual(JSON.parse(JSON.stringify(sample(Type))).required, ['word', 'counts', 'free']);
  });
});
