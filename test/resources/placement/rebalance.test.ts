import assert from 'node:assert/strict';
import fc from 'fast-check';
import { HOSTS, IMAGES, TENANTS, VMS } from '../../../resources/guards/refs.ts';
import { World } from '../../../resources/guards/world.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { objectKey } from '../../../resources/meta/object.ts';
import { planMoves, type RebalanceLimits } from '../../../resources/placement/rebalance.ts';
import { aHost, anImage, aTenant, aVM, DIGEST } from '../../harness/builders.ts';

const LIMITS: RebalanceLimits = { highWater: 0.85, maxMoves: 10 };
const GIB = 1024 ** 3;

function aWorld(hosts: readonly Host[], vms: readonly VM[], disabled = false): World {
  const world = new World();
  for (const host of hosts) world.set(HOSTS, host.metadata.name, host, 1);
  for (const name of ['red', 'blue']) world.set(TENANTS, name, aTenant(name, { disabled }), 1);
  world.set(IMAGES, 'tiny', anImage(), 1);
  world.set(IMAGES, 'macos', anImage({ name: 'macos', guestOS: 'macos' }), 1);
  for (const vm of vms) world.set(VMS, objectKey(vm.metadata), vm, 1);
  return world;
}

function on(
  host: string,
  name: string,
  gib: number,
  more: { namespace?: string; spec?: Partial<VM['spec']> } = {},
): VM {
  const memory = `${gib}Gi`;
  const resolved = { digest: DIGEST, guestOS: 'linux' as const, vcpus: 1, memory };
  const { namespace = 'red', spec } = more;
  const given = { hostName: host, size: { vcpus: 1, memory }, resolved, reschedulable: true, ...spec };
  return aVM({ name, namespace, spec: given });
}

const told = (hosts: readonly Host[], vms: readonly VM[], limits = LIMITS, disabled = false) => {
  const { moves, left } = planMoves(aWorld(hosts, vms, disabled), limits);
  const lines = moves.map(({ vm, from, to }) => `${vm} ${from}>${to}`);
  return [...lines, ...left.map(({ host, message }) => `${host}: ${message}`)].join(', ');
};

const [a, b, c] = [aHost({ name: 'a' }), aHost({ name: 'b' }), aHost({ name: 'c' })];
const MACOS = { image: 'macos', resolved: { digest: DIGEST, guestOS: 'macos' as const, vcpus: 1, memory: '8Gi' } };
const MAC_IMAGE = [{ name: 'macos', digest: DIGEST, size: '10Mi' }];
const PASS = 'the other hosts that may take its VMs would pass 85% before it is below';

describe('a plan to rebalance', () => {
  const cases: readonly [string, readonly Host[], readonly VM[], string][] = [
    ['proposes nothing where no host is above the mark', [a, b], [on('a', 'x', 13)], ''],
    [
      'moves the smallest VM whose going is enough, to the emptiest host',
      [a, b, c],
      [on('a', 'x', 8), on('a', 'y', 4), on('a', 'z', 2), on('b', 'w', 4)],
      'red/z a>c',
    ],
    [
      'moves none to a host that would pass the mark',
      [a, b],
      [on('a', 'x', 8), on('a', 'y', 8), on('b', 'w', 6)],
      `a: ${PASS}`,
    ],
    [
      'moves none to a host that placement would turn down',
      [a, aHost({ name: 'b', cordoned: true })],
      [on('a', 'x', 8), on('a', 'y', 7)],
      `a: ${PASS}`,
    ],
    [
      'proposes no part of what would not be enough',
      [a, aHost({ name: 'b', memory: '2Gi' })],
      [on('a', 'x', 15), on('a', 'y', 1)],
      `a: ${PASS}`,
    ],
    [
      'leaves those that did not say that they may go where they are',
      [a, b],
      [on('a', 'x', 8, { spec: { reschedulable: false } }), on('a', 'y', 8, { spec: { reschedulable: false } })],
      'a: none of its 2 VMs can be started elsewhere; 2 of its VMs are neither reschedulable nor ephemeral, and stay',
    ],
    [
      'moves one that is ephemeral rather than none',
      [a, b],
      [
        on('a', 'x', 8, { spec: { reschedulable: false } }),
        on('a', 'y', 8, { spec: { reschedulable: false, ttl: '8h' } }),
      ],
      'red/y a>b',
    ],
    [
      'moves macOS guests to a Mac only that their tenant leases',
      [aHost({ name: 'a', lessee: 'red' }), b],
      [on('a', 'x', 8, { spec: MACOS }), on('a', 'y', 8, { spec: MACOS })],
      `a: ${PASS}`,
    ],
    [
      'moves them where it does',
      [
        aHost({ name: 'a', lessee: 'red', images: MAC_IMAGE }),
        b,
        aHost({ name: 'c', lessee: 'red', images: MAC_IMAGE }),
      ],
      [on('a', 'x', 8, { spec: MACOS }), on('a', 'y', 8, { spec: MACOS })],
      'red/x a>c',
    ],
    [
      'moves none from a host that is paid for to one that is not',
      [aHost({ name: 'a', lessee: 'red' }), b],
      [on('a', 'x', 8), on('a', 'y', 8)],
      `a: ${PASS}`,
    ],
    [
      'moves from one host that is paid for to another',
      [aHost({ name: 'a', lessee: 'red' }), b, aHost({ name: 'c', lessee: 'red' })],
      [on('a', 'x', 8), on('a', 'y', 8)],
      'red/x a>c',
    ],
    ['does not touch a host that is not ready', [aHost({ name: 'a', ready: false }), b], [on('a', 'x', 15)], ''],
  ];
  for (const [what, hosts, vms, expected] of cases) it(what, () => assert.equal(told(hosts, vms), expected));

  it('counts the moves before, so that two hosts do not fill the same room', () => {
    const vms = [on('a', 'x', 8), on('a', 'y', 8), on('b', 'v', 8), on('b', 'w', 7)];
    assert.equal(told([a, b, c], vms), `red/x a>c, b: ${PASS}`);
  });

  it('ends at the number of moves, and says so', () => {
    const vms = Array.from({ length: 16 }, (_, n) => on('a', `v${n}`, 1));
    const expected = 'red/v0 a>b, red/v1 a>b, a: more than 2 moves would be needed';
    assert.equal(told([a, b], vms, { highWater: 0.5, maxMoves: 2 }), expected);
  });

  it('moves none of a tenant that could not make it again', () => {
    const vms = [on('a', 'x', 8), on('a', 'y', 8)];
    assert.equal(told([a, b], vms, LIMITS, true), 'a: none of its 2 VMs can be started elsewhere');
  });

  it('never passes the mark anywhere, never moves too often, leaves the world as it was, and is done when it is done', () => {
    const guest = fc.record({ host: fc.constantFrom('a', 'b', 'c'), gib: fc.integer({ min: 1, max: 9 }) });
    const limits = fc.record({
      highWater: fc.constantFrom(0.4, 0.7, 0.85, 1),
      maxMoves: fc.integer({ min: 1, max: 6 }),
    });
    const holds = fc.property(fc.array(guest, { maxLength: 12 }), limits, (guests, given) => {
      const vms = guests.map(({ host, gib }, n) => on(host, `v${n}`, gib));
      const world = aWorld([a, b, c], vms);
      const use = () => ['a', 'b', 'c'].map((name) => world.hostUse(name).memoryBytes);
      const before = use();
      const plan = planMoves(world, given);
      assert.deepEqual(use(), before);
      assert.ok(plan.moves.length <= given.maxMoves);
      const mark = given.highWater * 16 * GIB;
      for (const { host, beforeBytes, afterBytes } of plan.hosts) {
        if (afterBytes > beforeBytes) assert.ok(afterBytes <= mark);
        if (afterBytes > mark) assert.ok(plan.left.some((each) => each.host === host));
      }
      const moved = vms.map((vm) => {
        const to = plan.moves.find((move) => move.vm === objectKey(vm.metadata))?.to;
        return to === undefined ? vm : { ...vm, spec: { ...vm.spec, hostName: to } };
      });
      if (plan.left.length === 0) assert.deepEqual(planMoves(aWorld([a, b, c], moved), given).moves, []);
    });
    fc.assert(holds);
  });
});
