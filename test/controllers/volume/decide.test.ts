import assert from 'node:assert/strict';
import { decide } from '../../../controllers/volume/decide.ts';
import { HOSTS, TENANTS, VMS, VOLUMES } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { Tenant } from '../../../resources/kinds/tenant.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { findCondition } from '../../../resources/meta/condition.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { aHostWithDisk, aVolume } from '../../builders/volume.ts';
import { aTenant, aVM, EPOCH_START } from '../../harness/builders.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');

interface Setting {
  readonly hosts?: readonly Host[];
  readonly vms?: readonly VM[];
  readonly others?: readonly Volume[];
  readonly tenants?: readonly Tenant[];
}

/** What is decided, in a line. */
function decided(volume: Volume, setting: Setting = {}): string {
  const { hosts = [aHostWithDisk()], vms = [], others = [], tenants = [aTenant()] } = setting;
  const world = new World();
  for (const host of hosts) world.set(HOSTS, host.metadata.name, host, 1);
  for (const tenant of tenants) world.set(TENANTS, tenant.metadata.name, tenant, 1);
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  for (const each of [volume, ...others]) world.set(VOLUMES, objectKey(each.metadata), each, 1);
  const decision = decide(volume, world, hosts, NOW);
  if (decision.kind === 'bind') return `bind ${decision.host.metadata.name}`;
  if (decision.kind === 'nothing') return 'nothing';
  const if_ = decision.goneHost === undefined ? '' : ` if ${decision.goneHost} is gone`;
  if (decision.kind === 'release') return `release${if_}`;
  const { phase, attachedTo, lostBy, conditions = [] } = decision.status;
  const ready = findCondition({ ...volume, status: { conditions: [...conditions] } }, 'Ready');
  const to = attachedTo === undefined ? '' : ` to ${attachedTo}`;
  const by = lostBy === undefined ? '' : ` by ${lostBy}`;
  return `${phase}${to}${by} ${ready?.status} ${ready?.reason}${if_}`;
}

const pending = (host: Host): Host => {
  const condition = {
    type: 'ScrubPending',
    status: 'True',
    reason: 'r',
    message: '',
    lastTransitionTime: EPOCH_START,
  } as const;
  return { ...host, status: { ...host.status, conditions: [...(host.status?.conditions ?? []), condition] } };
};
const scrub = (host: Host, takesVolumes: boolean): Host => ({
  ...host,
  status: { ...host.status, scrub: { requestedAt: EPOCH_START, outcome: 'Waiting', forced: true, takesVolumes } },
});
const user = (spec: Partial<VM['spec']> = {}, status?: VM['status']) =>
  aVM({ spec: { volumes: [{ name: 'data' }], ...spec }, ...(status === undefined ? {} : { status }) });
const leaves = <T extends VM | Volume>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp: EPOCH_START },
});
const guest = (power: 'Running' | 'Gone') => ({ guest: { id: 'g', power, epoch: 1 } });

describe('the volume duty', () => {
  it('says that a volume is whole, or what of it is not', () => {
    assert.equal(decided(aVolume()), 'Available True Available');
    const { conditions: _, ...status } = aVolume().status ?? {};
    assert.equal(decided({ ...aVolume(), status }), 'Pending False Creating');
    assert.equal(decided(aVolume({ size: '60Gi', status: { size: '50Gi' } })), 'Available False Growing');
    const no = {
      type: 'FileReady',
      status: 'False',
      reason: 'NoSpace',
      message: 'm',
      lastTransitionTime: EPOCH_START,
    } as const;
    assert.equal(decided(aVolume({ status: { conditions: [no] } })), 'Pending False NoSpace');
  });

  it('goes by the guest, not by the object of the VM', () => {
    const bound = user({ hostName: 'mac-1' }, guest('Running'));
    assert.equal(decided(aVolume(), { vms: [user()] }), 'Available True Available', 'it waits still');
    assert.equal(decided(aVolume(), { vms: [bound] }), 'Attached to web True Attached');
    assert.equal(decided(aVolume(), { vms: [leaves(bound)] }), 'Attached to web True Attached');
    const gone = leaves(user({ hostName: 'mac-1' }, guest('Gone')));
    assert.equal(decided(aVolume(), { vms: [gone] }), 'Available True Available');
    const stranger = { ...bound, metadata: { ...bound.metadata, namespace: 'blue' } };
    assert.equal(decided(aVolume(), { vms: [stranger] }), 'Available True Available');
  });

  it('takes a guest whose VM object is gone for what has it, while its host tells of it', () => {
    const attached = aVolume({ status: { attachedTo: 'web' } });
    const host = aHostWithDisk();
    const orphans = [{ id: 'g', label: 'red/web', power: 'Running' }];
    const told = { ...host, status: { ...host.status, orphans } };
    assert.equal(decided(attached, { hosts: [told] }), 'Attached to web True Attached');
    assert.equal(decided(attached, { hosts: [scrub(told, true)] }), 'Attached to web True Attached');
    assert.equal(decided(attached), 'Available True Available');
  });

  it('strands it with the lease, not under a guest, and has it back with the next lease of its tenant', () => {
    assert.equal(decided(aVolume(), { hosts: [pending(aHostWithDisk())] }), 'Stranded False Stranded');
    const vms = [user({ hostName: 'mac-1' }, guest('Running'))];
    assert.equal(decided(aVolume(), { hosts: [pending(aHostWithDisk())], vms }), 'Attached to web True Attached');
    const stranded = aVolume({ status: { phase: 'Stranded', strandedAt: EPOCH_START } });
    assert.equal(decided(stranded, { hosts: [aHostWithDisk({ lessee: 'blue' })] }), 'Stranded False Stranded');
    assert.equal(decided(stranded, { hosts: [aHostWithDisk({ lessee: 'red' })] }), 'Available True Available');
  });

  it('gives it up to a scrub that takes it, to no other, and not under a guest or under its own tenant', () => {
    const host = pending(aHostWithDisk());
    const lost = 'Lost by the scrub of host mac-1, forced False Lost';
    assert.equal(decided(aVolume(), { hosts: [scrub(host, true)] }), lost);
    assert.equal(decided(aVolume(), { hosts: [scrub(host, false)] }), 'Stranded False Stranded');
    const vms = [user({ hostName: 'mac-1' }, guest('Running'))];
    assert.equal(decided(aVolume(), { hosts: [scrub(host, true)], vms }), 'Attached to web True Attached');
    const leased = scrub(aHostWithDisk({ lessee: 'red' }), true);
    assert.equal(decided(aVolume(), { hosts: [leased] }), 'Available True Available');
  });

  it('gives it up with its host, when that is gone or another has its name', () => {
    const by = 'Lost by host mac-1 was given up False Lost';
    assert.equal(decided(aVolume(), { hosts: [] }), `${by} if mac-1 is gone`);
    assert.equal(decided(aVolume({ status: { hostUID: 'another' } })), by);
    const lost = aVolume({ status: { phase: 'Lost', lostAt: EPOCH_START, lostBy: 'x' } });
    assert.equal(decided(lost, { hosts: [] }), 'Lost by x False Lost');
  });

  it('gives it up with a tenant that is deleted by force, and only then', () => {
    const tenant = aTenant('red', { forceDelete: { requestedAt: EPOCH_START, by: 'eve' } });
    const going = { ...tenant, metadata: { ...tenant.metadata, deletionTimestamp: EPOCH_START } };
    const lost = 'Lost by the deletion of tenant red, forced by eve False Lost';
    assert.equal(decided(aVolume(), { tenants: [going] }), lost);
    assert.equal(decided(aVolume(), { tenants: [tenant] }), 'Available True Available');
    const unforced = { ...going, spec: {} };
    assert.equal(decided(aVolume(), { tenants: [unforced] }), 'Available True Available');
  });

  it('lets the object go where no nodelet could: it was never anywhere, or its host is gone', () => {
    assert.equal(decided(leaves(aVolume({ host: undefined }))), 'release');
    assert.equal(decided(leaves(aVolume()), { hosts: [] }), 'release if mac-1 is gone');
    assert.equal(decided(leaves(aVolume({ status: { hostUID: 'another' } }))), 'release');
    assert.equal(decided(leaves(aVolume())), 'Available False Deleting');
    const freed = leaves(aVolume());
    assert.equal(decided({ ...freed, metadata: { ...freed.metadata, finalizers: [] } }), 'nothing');
  });

  it('looks for a host that attaches volumes and may take its tenant', () => {
    const unbound = aVolume({ host: undefined });
    assert.equal(decided(unbound), 'bind mac-1');
    assert.equal(decided(unbound, { tenants: [] }), 'Pending False TenantNotFound');
    assert.equal(decided(unbound, { tenants: [aTenant('red', { disabled: true })] }), 'Pending False TenantDisabled');
    const cases: readonly (readonly [string, Host])[] = [
      ['VolumesUnsupported', aHostWithDisk({ volumes: false })],
      ['NotReady', aHostWithDisk({ ready: false })],
      ['Cordoned', aHostWithDisk({ cordoned: true })],
      ['ScrubPending', pending(aHostWithDisk())],
      ['LeasedToOthers', aHostWithDisk({ lessee: 'blue' })],
      ['InsufficientDisk', aHostWithDisk({ disk: '40Gi' })],
    ];
    for (const [reason, host] of cases) assert.equal(decided(unbound, { hosts: [host] }), `Pending False ${reason}`);
    const grouped = { tenants: [aTenant('red', { hostGroup: 'ci' })] };
    assert.equal(decided(unbound, grouped), 'Pending False GroupMismatch');
    const ending = aHostWithDisk({ lessee: 'red' });
    const lease = { ...ending.status?.lease, ending: true } as NonNullable<NonNullable<Host['status']>['lease']>;
    assert.equal(
      decided(unbound, { hosts: [{ ...ending, status: { ...ending.status, lease } }] }),
      'Pending False LeaseEnding',
    );
  });

  it('takes the one with most disk that neither volumes nor disks of VMs have, leased ones first', () => {
    const unbound = aVolume({ host: undefined });
    const hosts = [aHostWithDisk({ name: 'a' }), aHostWithDisk({ name: 'b' })];
    assert.equal(decided(unbound, { hosts }), 'bind a');
    const others = [aVolume({ name: 'other', host: 'a', size: '10Gi', status: { hostUID: 'uid-of-a' } })];
    assert.equal(decided(unbound, { hosts, others }), 'bind b');
    const lost = others.map((each) => ({ ...each, status: { ...each.status, phase: 'Lost' as const } }));
    assert.equal(decided(unbound, { hosts, others: lost }), 'bind a', 'what is lost takes nothing');
    const resolved = { digest: 'd', guestOS: 'linux', vcpus: 1, memory: '1Gi', disk: '20Gi' } as const;
    const vms = [aVM({ spec: { hostName: 'b', resolved } })];
    assert.equal(decided(unbound, { hosts, others, vms }), 'bind a');
    const leased = [aHostWithDisk({ name: 'c', disk: '60Gi', lessee: 'red' })];
    assert.equal(decided(unbound, { hosts: [...hosts, ...leased], others, vms }), 'bind c');
    assert.equal(decided(aVolume({ host: undefined, size: '70Gi' }), { hosts: [...hosts, ...leased] }), 'bind a');
  });

  it('takes none that its quota has no room for', () => {
    const tenants = [aTenant('red', { quota: { maxVolumeSize: '60Gi' } })];
    const unbound = aVolume({ host: undefined });
    assert.equal(decided(unbound, { tenants }), 'bind mac-1');
    assert.equal(
      decided(unbound, { tenants, others: [aVolume({ name: 'other', size: '20Gi' })] }),
      'Pending False QuotaExceeded',
    );
    const waiting = aVolume({ name: 'other', size: '20Gi', host: undefined });
    assert.equal(decided(unbound, { tenants, others: [waiting] }), 'bind mac-1', 'one that has no host holds nothing');
  });
});
