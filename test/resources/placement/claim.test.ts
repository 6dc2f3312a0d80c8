import assert from 'node:assert/strict';
import type { VM } from '../../../resources/kinds/vm.ts';
import { decide } from '../../../resources/placement/decide.ts';
import { aPolicy } from '../../harness/a-policy.ts';
import { aHost, aTenant, aVM, DIGEST } from '../../harness/builders.ts';
import { aMember, aPool, aPoolWorld } from '../../harness/pool-objects.ts';

type Setting = Parameters<typeof aPoolWorld>[0];

const hosts = ['a', 'b', 'c'].map((name) => aHost({ name }));
const on = (host: string, ...names: readonly string[]) => names.map((name) => aMember({ name, host }));
const shared = (spec = {}) => aPool({ name: 'warm', namespace: 'ops', spec: { shared: true, ...spec } });
const CLAIMS = aPolicy({ allowSharedPoolClaims: true });

function decided(setting: Setting, vm: VM = aVM({ name: 'web' })): string {
  const world = aPoolWorld({ hosts, ...setting, vms: [vm, ...(setting.vms ?? [])] });
  const decision = decide(vm, world, setting.hosts ?? hosts);
  if (decision.kind === 'wait') return decision.reason;
  const { member, epoch, placement } = decision;
  const told = `${decision.host} ${placement.why}`;
  return member === undefined
    ? told
    : `${told} ${placement.pool} ${member.metadata.name} ${epoch} (${placement.fitting})`;
}

describe('the warm guest that a VM takes', () => {
  const cases: readonly [string, Setting, string, VM?][] = [
    ['is that of an idle member, with its host and its binding', { vms: on('b', 'w1') }, 'b Claimed warm w1 3 (1)'],
    [
      'is on the host that has the most of them',
      { vms: [...on('a', 'w1'), ...on('c', 'w2', 'w3')] },
      'c Claimed warm w2 3 (2)',
    ],
    [
      'is on a host its tenant pays for before any other',
      {
        vms: [...on('a', 'w1', 'w2'), ...on('b', 'w3')],
        hosts: [aHost({ name: 'a' }), aHost({ name: 'b', lessee: 'red' })],
      },
      'b Claimed warm w3 3 (2)',
    ],
    [
      'is its own namespace’s before a shared one',
      {
        vms: [
          ...on('a', 'w1'),
          aMember({ name: 's1', namespace: 'ops', host: 'b' }),
          aMember({ name: 's2', namespace: 'ops', host: 'b' }),
        ],
        pools: [aPool(), shared()],
        policy: CLAIMS,
      },
      'a Claimed warm w1 3 (2)',
    ],
    [
      'is a shared one where the policy says so',
      { vms: [aMember({ name: 's1', namespace: 'ops', host: 'b' })], pools: [shared()], policy: CLAIMS },
      'b Claimed ops/warm s1 3 (1)',
    ],
    [
      'is none of a shared pool otherwise',
      { vms: [aMember({ name: 's1', namespace: 'ops', host: 'b' })], pools: [shared()] },
      'b Fullest',
    ],
    [
      'is none on a host that is cordoned',
      { vms: on('a', 'w1'), hosts: [aHost({ name: 'a', cordoned: true }), aHost({ name: 'b' })] },
      'b Fullest',
    ],
    [
      'is none on a host that is not ready',
      { vms: on('a', 'w1'), hosts: [aHost({ name: 'a', ready: false }), aHost({ name: 'b' })] },
      'b Fullest',
    ],
    [
      'is on a host that has room for nothing else: it is there already',
      { vms: on('a', 'w1'), hosts: [aHost({ name: 'a', memory: '4Gi', vcpus: 2 })] },
      'a Claimed warm w1 3 (1)',
    ],
    [
      'is on a host that the VM may have',
      { vms: on('a', 'w1'), hosts: [aHost({ name: 'a' }), aHost({ name: 'b', labels: { site: 'office' } })] },
      'b Fullest',
      aVM({ name: 'web', spec: { hostSelector: { matchLabels: { site: 'office' } } } }),
    ],
    [
      'is none for one that is to be off',
      { vms: on('a', 'w1') },
      'a Fullest',
      aVM({ name: 'web', spec: { power: 'Stopped' } }),
    ],
    [
      'is none of another shape',
      { vms: on('a', 'w1') },
      'a Fullest',
      aVM({ name: 'web', spec: { class: 'reserved' } }),
    ],
    [
      'is none while its tenant is disabled',
      { vms: on('a', 'w1'), tenants: [aTenant('red', { disabled: true })] },
      'TenantDisabled',
    ],
  ];
  for (const [what, setting, wanted, vm] of cases) it(what, () => assert.equal(decided(setting, vm), wanted));

  it('of macOS is on the Mac with the most idle slots, of those that its tenant leases', () => {
    const resolved = { digest: DIGEST, guestOS: 'macos', vcpus: 2, memory: '4Gi' } as const;
    const mac = (name: string, host: string) => aMember({ name, host, spec: { resolved } });
    const macs = [...['a', 'b', 'c'].map((name) => aHost({ name, lessee: 'red' })), aHost({ name: 'd' })];
    const vms = [mac('w1', 'a'), mac('w2', 'c'), mac('w3', 'c'), mac('w4', 'd'), mac('w5', 'd')];
    assert.equal(decided({ vms, hosts: macs }, aVM({ name: 'web', spec: { resolved } })), 'c Claimed warm w2 3 (2)');
  });
});
