import assert from 'node:assert/strict';
import { checkScalePaths } from '../../../apiserver/admission/scale-paths.ts';
import type { JsonObject } from '../../../resources/meta/object.ts';

const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

describe('the fields a scale subresource reads', () => {
  const cases: [JsonObject, string[]][] = [
    [{}, []],
    [{ spec: { replicas: 3 }, status: { replicas: 3, selector: 'a=b' } }, []],
    [{ spec: { replicas: -1 } }, ['.spec.replicas: Invalid value: -1: should be a non-negative integer']],
    [
      { spec: { replicas: 2 ** 31 } },
      ['.spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647'],
    ],
    [
      { status: { replicas: 2n ** 62n } },
      ['.status.replicas: Invalid value: 4611686018427387904: should be less than or equal to 2147483647'],
    ],
    [
      { spec: [1], status: { replicas: { a: [true, null] }, selector: 5 } },
      [
        '.spec.replicas: Invalid value: 0: .spec accessor error: [1] is of the type []interface {}, expected map[string]interface {}',
        '.status.replicas: Invalid value: 0: .status.replicas accessor error: map[a:[true <nil>]] is of the type map[string]interface {}, expected int64',
        '.status.selector: Invalid value: "": .status.selector accessor error: 5 is of the type int64, expected string',
      ],
    ],
  ];
  for (const [object, want] of cases) {
    it(`of ${want.length === 0 ? 'a right' : 'a wrong'} object: ${want[0] ?? 'nothing to say'}`, () => {
      assert.deepEqual(
        checkScalePaths(object, scale).map((cause) => `${cause.field}: ${cause.message}`),
        want,
      );
    });
  }

  it('are none without the subresource', () =>
    assert.deepEqual(checkScalePaths({ spec: { replicas: 'x' } }, undefined), []));
});
