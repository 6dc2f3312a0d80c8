import assert from 'node:assert/strict';
import { attentionOf } from '../../../cli/actions/attention.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';

function anObject(kind: string, name: string, status: object, more: object = {}): KubeObject {
  const metadata = { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', ...more };
  return { apiVersion: 'coppice.dev/v1', kind, metadata, status } as KubeObject;
}
const ready = (status: string, reason: string) => ({ conditions: [{ type: 'Ready', status, reason, message: 'm' }] });

describe('what needs a look of leases, slots, volumes and tenants', () => {
  it('is what waits or has no host to speak of, what is lost, and what is on its way out', () => {
    const lease = (name: string, status: object) => anObject('Lease', name, status, { namespace: 'red' });
    const volume = (name: string, status: object) => anObject('Volume', name, status, { namespace: 'red' });
    const seen = {
      vms: [],
      hosts: [anObject('Host', 'mini', { ...ready('True', 'NodeletReady'), macosSlots: { total: 2, leaked: 1 } })],
      tenants: [
        anObject('Tenant', 'red', ready('True', 'Active')),
        anObject('Tenant', 'old', ready('False', 'Deleting'), { deletionTimestamp: '2026-01-02T00:00:00Z' }),
      ],
      leases: [
        lease('waits', { phase: 'Pending', ...ready('False', 'LeasedToOthers') }),
        lease('gone', { phase: 'Active', ...ready('False', 'HostGone') }),
        lease('silent', { phase: 'Active', ...ready('Unknown', 'HostSilent') }),
        lease('well', { phase: 'Active', ...ready('True', 'Active') }),
        lease('over', { phase: 'Ended', ...ready('False', 'Ended') }),
      ],
      volumes: [
        volume('well', ready('True', 'Available')),
        volume('new', ready('False', 'Creating')),
        volume('left', ready('False', 'Stranded')),
      ],
    };
    assert.deepEqual(
      attentionOf(seen, 0).map(({ object, reason, message }) => `${object} ${reason}: ${message}`),
      [
        'host/mini LeakedSlots: 1 of 2 macOS slots is lost until the Mac restarts',
        'tenant/old Deleting: m',
        'lease/waits in red LeasedToOthers: m',
        'lease/gone in red HostGone: m',
        'lease/silent in red HostSilent: m',
        'volume/left in red Stranded: m',
      ],
    );
  });

  it('is a set of leases that lacks some, not one whose leases wait or are being made ready', () => {
    const set = (name: string, status: object) => anObject('LeaseSet', name, status, { namespace: 'red' });
    const leaseSets = [
      set('full', { wanted: 4, active: 2, pending: 0, ...ready('False', 'QuotaExceeded') }),
      set('waits', { wanted: 4, active: 2, pending: 2, ...ready('False', 'AlreadyLeased') }),
      set('well', { wanted: 2, active: 4, pending: 0, ...ready('True', 'Active') }),
    ];
    assert.deepEqual(
      attentionOf({ vms: [], hosts: [], leaseSets }, 0).map(({ object, reason }) => `${object} ${reason}`),
      ['leaseset/full in red QuotaExceeded'],
    );
  });

  it('is a drain that cannot go on, not one that does or is done', () => {
    const host = (name: string, status: string, reason: string) =>
      anObject('Host', name, {
        conditions: [
          { type: 'Ready', status: 'True', reason: 'NodeletReady', message: '' },
          { type: 'Drained', status, reason, message: 'waiting: red/web-1 (0 of 2 hosts fit)' },
        ],
      });
    const hosts = [
      host('stuck', 'False', 'Waiting'),
      host('goes', 'False', 'InProgress'),
      host('done', 'True', 'Empty'),
    ];
    assert.deepEqual(
      attentionOf({ vms: [], hosts }, 0).map(({ object, reason, message }) => `${object} ${reason}: ${message}`),
      ['host/stuck Waiting: waiting: red/web-1 (0 of 2 hosts fit)'],
    );
  });

  it('is a pool that does not get warm, not one on the way', () => {
    const pool = (name: string, status: string, reason: string) =>
      anObject('Pool', name, ready(status, reason), { namespace: 'red' });
    const pools = [
      pool('well', 'True', 'Warm'),
      pool('soon', 'False', 'Warming'),
      ...['QuotaExceeded', 'NoHostFits', 'MembersFail', 'ImageNotFound'].map((reason) => pool('bad', 'False', reason)),
    ];
    assert.deepEqual(
      attentionOf({ vms: [], hosts: [], pools }, 0).map(({ object, reason }) => `${object} ${reason}`),
      ['QuotaExceeded', 'NoHostFits', 'MembersFail', 'ImageNotFound'].map((reason) => `pool/bad in red ${reason}`),
    );
  });

  it('is a tenant with more volumes than its quota', () => {
    const red = anObject('Tenant', 'red', { ...ready('True', 'Active'), used: { volumeSize: '100Gi' } });
    const tenants = [{ ...red, spec: { quota: { maxVolumeSize: '50Gi' } } } as KubeObject];
    assert.deepEqual(
      attentionOf({ vms: [], hosts: [], tenants }, 0).map(({ object, message }) => `${object}: ${message}`),
      ['tenant/red: holds 100Gi of 50Gi volumes'],
    );
  });
});
