import assert from 'node:assert/strict';
import { tableOf } from '../../../apiserver/table/table.ts';
import { Lease } from '../../../resources/kinds/lease.ts';
import { LeaseSet } from '../../../resources/kinds/lease-set.ts';
import { Pool } from '../../../resources/kinds/pool.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { Volume } from '../../../resources/kinds/volume.ts';
import type { Kind } from '../../../resources/meta/define-kind.ts';
import { type KubeObject, valueAt } from '../../../resources/meta/object.ts';
import { aVM, EPOCH_START } from '../../harness/builders.ts';

/** What a narrow table shows of an object, by column. */
function shown(kind: Kind, object: KubeObject): Readonly<Record<string, unknown>> {
  const { columnDefinitions, rows } = tableOf(kind, [object], { nowMs: 0, listMeta: { resourceVersion: '1' } });
  const cells = rows[0]?.cells ?? [];
  return Object.fromEntries(
    (columnDefinitions ?? []).flatMap(({ name, priority }, i) => (priority === 0 ? [[name, cells[i]]] : [])),
  );
}

function told(kind: Kind, status: 'True' | 'False', reason: string): Readonly<Record<string, unknown>> {
  const metadata = { name: 'x', namespace: 'red', uid: 'x', resourceVersion: '1', creationTimestamp: EPOCH_START };
  const condition = { type: 'Ready', status, reason, message: '', lastTransitionTime: EPOCH_START };
  return shown(kind, {
    ...{ apiVersion: 'coppice.dev/v1', kind: kind.kind, metadata },
    ...{ spec: {}, status: { conditions: [condition] } },
  } as KubeObject);
}

describe('the narrow tables of a fleet', () => {
  for (const kind of [Volume, Pool, LeaseSet]) {
    it(`say why a ${kind.kind} is not ready, and nothing of one that is`, () => {
      assert.equal(told(kind, 'False', 'QuotaExceeded').Why, 'QuotaExceeded');
      assert.equal(told(kind, 'True', 'Well').Why ?? null, null);
    });
  }

  it('say whether volumes and sets of leases are ready', () => {
    assert.equal(told(Volume, 'True', 'Available').Ready, 'True');
    assert.equal(told(LeaseSet, 'False', 'Making').Ready, 'False');
  });

  it('say of which pool a VM is a warm member', () => {
    const vm = aVM({ name: 'x' });
    assert.equal(shown(VM, vm).Pool ?? null, null);
    const member = { ...vm, metadata: { ...vm.metadata, labels: { 'coppice.dev/pool': 'warm' } } };
    assert.equal(shown(VM, member).Pool, 'warm');
  });
});

describe('what is told of a phase', () => {
  for (const kind of [Volume, Lease]) {
    it(`is each that a ${kind.kind} can be in`, () => {
      const phase = valueAt(kind.schema as object, ['properties', 'status', 'properties', 'phase']);
      const { enum: phases, description } = phase as { enum: readonly string[]; description: string };
      assert.deepEqual(
        phases.filter((one) => !description.includes(`${one}:`)),
        [],
      );
    });
  }
});
