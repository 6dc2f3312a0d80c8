import assert from 'node:assert/strict';
import { compileJsonPath } from '../../../cli/wait/json-path.ts';
import { parseWish } from '../../../cli/wait/wish.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';

const aVM = (status: object, generation = 1): KubeObject => ({
  apiVersion: 'coppice.dev/v1',
  kind: 'VM',
  metadata: { name: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', generation },
  status,
});
const ready = (status: string, more: object = {}) => ({ conditions: [{ type: 'Ready', status, ...more }] });

describe('what is waited for', () => {
  const table: [string, KubeObject | undefined, boolean][] = [
    ['condition=Ready', aVM(ready('True')), true],
    ['condition=ready', aVM(ready('True')), true],
    ['condition=Ready', aVM(ready('False')), false],
    ['condition=Ready', aVM({}), false],
    ['condition=Ready=False', aVM(ready('False')), true],
    ['condition=Ready=unknown', aVM(ready('Unknown')), true],
    ['condition=Ready', aVM(ready('True', { observedGeneration: 1 }), 2), false],
    ['condition=Ready', aVM(ready('True', { observedGeneration: 2 }), 2), true],
    ['condition=Ready', aVM({ ...ready('True'), observedGeneration: 1 }, 2), false],
    ['create', undefined, false],
    ['create', aVM({}), true],
    ['delete', aVM({}), false],
    ['delete', undefined, true],
    ["jsonpath='{.status.phase}'=Running", aVM({ phase: 'Running' }), true],
    ['jsonpath={.status.phase}=Running', aVM({ phase: 'Pending' }), false],
    ['jsonpath={.status.phase}', aVM({ phase: 'Pending' }), true],
    ['jsonpath={.status.phase}', aVM({}), false],
    ['jsonpath=.status.phase=Running', aVM({ phase: 'Running' }), true],
    ['jsonpath={.status.n}=3', aVM({ n: 3 }), true],
    ['jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', aVM(ready('True')), true],
    ['jsonpath=.status.conditions[?(@.type=="Ready")].status=True', aVM(ready('True')), true],
  ];
  for (const [text, object, holds] of table) {
    it(`${text} ${holds ? 'holds' : 'does not hold'} of ${JSON.stringify(object?.status)}`, () =>
      assert.equal(parseWish(text).holds(object), holds));
  }

  for (const text of ['Ready', 'condition=', 'jsonpath=', 'jsonpath={.a}=', 'jsonpath={.a[}', 'deleted']) {
    it(`${text} is refused`, () => assert.throws(() => parseWish(text), { name: 'Failure' }));
  }
});

describe('a JSON path', () => {
  const value = {
    a: { 'b.c': [1, 2, { d: 3 }] },
    l: [
      { k: 'x', v: 1 },
      { k: 'y', v: 2 },
    ],
  };
  const table: [string, unknown[]][] = [
    ["{.a['b.c'][0]}", [1]],
    ['{.a.b\\.c[-1].d}', [3]],
    ['$.l[*].v', [1, 2]],
    ["{.l[?(@.k=='y')].v}", [2]],
    ['{.l[?(@.v==1)].k}', ['x']],
    ['{.nowhere.at.all}', []],
    ['{.a.constructor}', []],
    ['a["b.c"][9]', []],
  ];
  for (const [path, expected] of table) {
    it(`${path} finds ${JSON.stringify(expected)}`, () => assert.deepEqual(compileJsonPath(path)(value), expected));
  }
});
