import assert from 'node:assert/strict';
import { decide } from '../../../controllers/vm-lifecycle/decide.ts';
import { GUEST_FINALIZER } from '../../../resources/guards/vm-admission.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { aVM, EPOCH_START } from '../../harness/builders.ts';

const T0 = Date.parse(EPOCH_START);
const HOUR = 3_600_000;

function leaving(spec: Partial<VM['spec']>, finalizers = [GUEST_FINALIZER]): VM {
  const vm = aVM({ spec });
  return { ...vm, metadata: { ...vm.metadata, deletionTimestamp: EPOCH_START, finalizers } };
}

describe('what is done about the end of a VM', () => {
  const cases: readonly [string, VM, number, unknown][] = [
    ['nothing without a ttl', aVM(), HOUR, { kind: 'nothing' }],
    ['waits for the rest of its ttl', aVM({ spec: { ttl: '8h' } }), HOUR, { kind: 'wait', ms: 7 * HOUR }],
    ['ends it when the ttl is over, to the millisecond', aVM({ spec: { ttl: '1h' } }), HOUR, { kind: 'expire' }],
    ['not a millisecond before', aVM({ spec: { ttl: '1h' } }), HOUR - 1, { kind: 'wait', ms: 1 }],
    ['releases one that never had a host', leaving({}), 0, { kind: 'release' }],
    ['leaves one on a host to its nodelet', leaving({ hostName: 'known' }), 0, { kind: 'nothing' }],
    [
      'asks for the host of one on a host nobody has seen',
      leaving({ hostName: 'x' }),
      0,
      { kind: 'release-if-host-gone', host: 'x' },
    ],
    ["leaves other people's finalizers alone", leaving({}, ['a.example/b']), 0, { kind: 'nothing' }],
    [
      'does not delete again what is being deleted',
      leaving({ ttl: '1h', hostName: 'known' }),
      9 * HOUR,
      { kind: 'nothing' },
    ],
  ];
  for (const [claim, vm, afterMs, expected] of cases) {
    it(claim, () =>
      assert.deepEqual(
        decide(vm, (name) => name === 'known', T0 + afterMs),
        expected,
      ),
    );
  }
});
