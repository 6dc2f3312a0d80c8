import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { App } from '../../../apiserver/requests/server-request.ts';
import { MemoryStore } from '../../../apiserver/store/memory/store.ts';
import type { Store } from '../../../apiserver/store/store.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { FarStore } from '../../harness/far-store.ts';
import { peakUse } from '../../harness/quota-history.ts';
import { letGo, makeQuota, VMS_URL } from '../../harness/quota-world.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const TENANT = '/apis/coppice.dev/v1/tenants/red';
const NAMES = 5;
/** What a VM of the tests' image comes to. */
const VCPUS = 2;
/** At the beginning: so little that most histories come to its end. */
const ROOM = { maxVMs: 3, maxVCPUs: 2 * VCPUS };

type Power = 'Running' | 'Stopped' | 'Paused';
type Guest = 'Off' | 'Running' | 'Paused' | 'Gone';
type Step = { readonly vm: number; readonly at: number } & (
  | { readonly act: 'create' | 'power'; readonly power: Power }
  /** What its host finds. */
  | { readonly act: 'guest'; readonly guest: Guest }
  | { readonly act: 'delete' | 'let-go' }
  | { readonly act: 'quota'; readonly maxVMs: number; readonly maxVCPUs: number }
);

const base = { vm: fc.nat({ max: NAMES - 1 }), at: fc.nat({ max: 1 }) };
const power = fc.constantFrom<Power>('Running', 'Stopped', 'Paused');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ ...base, act: fc.constant('create' as const), power }) },
  { weight: 5, arbitrary: fc.record({ ...base, act: fc.constant('power' as const), power }) },
  {
    weight: 5,
    arbitrary: fc.record({
      ...base,
      act: fc.constant('guest' as const),
      guest: fc.constantFrom<Guest>('Off', 'Running', 'Paused', 'Gone'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ ...base, act: fc.constantFrom('delete' as const, 'let-go' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...base,
      act: fc.constant('quota' as const),
      maxVMs: fc.nat({ max: NAMES }),
      maxVCPUs: fc.nat({ max: NAMES * VCPUS }),
    }),
  },
);

/** What one VM is, as its users and its host say. */
interface Known {
  readonly power: Power;
  readonly guest?: Guest;
  readonly deleted?: true;
}

/** The rules by which a VM counts, told once more and plainly. */
class Model {
  readonly vms = new Map<number, Known>();
  maxVMs = ROOM.maxVMs;
  maxVCPUs = ROOM.maxVCPUs;

  #share(vm: Known | undefined): { vms: number; vcpus: number } {
    if (vm === undefined || (vm.deleted === true && vm.guest === 'Gone')) return { vms: 0, vcpus: 0 };
    return { vms: 1, vcpus: vm.power === 'Running' || vm.guest === 'Running' ? VCPUS : 0 };
  }

  /** Whether a VM may come to be this. */
  hasRoomFor(at: number, next: Known): boolean {
    const [had, wants] = [this.#share(this.vms.get(at)), this.#share(next)];
    const used = [...this.vms.values()].map((vm) => this.#share(vm));
    const total = (what: 'vms' | 'vcpus') =>
      used.reduce((sum, share) => sum + share[what], 0) - had[what] + wants[what];
    const fits = (what: 'vms' | 'vcpus', max: number) => wants[what] <= had[what] || total(what) <= max;
    return fits('vms', this.maxVMs) && fits('vcpus', this.maxVCPUs);
  }

  /** The status the server should answer, and what the VM is then. */
  take(step: Step): number {
    const known = this.vms.get(step.vm);
    if (step.act === 'quota') {
      this.maxVMs = step.maxVMs;
      this.maxVCPUs = step.maxVCPUs;
      return 200;
    }
    if (step.act === 'create') return known === undefined ? this.#become(step.vm, { power: step.power }, 201) : 409;
    if (known === undefined) return 404;
    if (step.act === 'power') return this.#become(step.vm, { ...known, power: step.power }, 200);
    if (step.act === 'guest') return this.#become(step.vm, { ...known, guest: step.guest }, 200);
    if (step.act === 'delete') return this.#become(step.vm, { ...known, deleted: true }, 200);
    if (known.deleted === true) this.vms.delete(step.vm);
    return 200;
  }

  #become(at: number, next: Known, status: number): number {
    if (!this.hasRoomFor(at, next)) return 403;
    this.vms.set(at, next);
    return status;
  }
}

function ask(app: App, step: Step): Promise<RawAnswer> {
  const url = `${VMS_URL}/vm-${step.vm}`;
  const merge = (at: string, body: object) => send(app, 'PATCH', at, { body, headers: MERGE });
  switch (step.act) {
    case 'create': {
      const spec = { image: 'tiny', power: step.power };
      const body = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: `vm-${step.vm}` }, spec };
      return send(app, 'POST', VMS_URL, { body });
    }
    case 'power':
      return merge(url, { spec: { power: step.power } });
    case 'guest':
      return merge(`${url}/status`, { status: { guest: { id: `g-${step.vm}`, power: step.guest, epoch: 1 } } });
    case 'quota':
      return merge(TENANT, { spec: { quota: { maxVMs: step.maxVMs, maxVCPUs: step.maxVCPUs } } });
    case 'delete':
      return send(app, 'DELETE', url);
    case 'let-go':
      return letGo(app, `vm-${step.vm}`);
  }
}

/** Far away, and asked for its latest revision as etcd is. */
class AskedStore extends FarStore {
  readonly #inner: Store;

  constructor(inner: Store, delayMs: () => number) {
    super(inner, delayMs);
    this.#inner = inner;
  }

  async latest(): Promise<number> {
    return this.#inner.revision();
  }
}

async function twoServers(delayMs: () => number) {
  const ended = new AsyncDisposableStack();
  const store = ended.use(await MemoryStore.open({ ids: systemIds }));
  const tests: TestServer[] = [];
  for (let i = 0; i < 2; i++) tests.push(ended.use(await startTestServer({ store: new AskedStore(store, delayMs) })));
  const app = (i: number) => (tests[i % 2] as (typeof tests)[number]).server.app;
  await makeQuota(app(0), NAMES);
  const body = { spec: { quota: ROOM } };
  assert.equal((await send(app(0), 'PATCH', TENANT, { body, headers: MERGE })).status, 200);
  return { store, tests, app, [Symbol.asyncDispose]: () => ended.disposeAsync() };
}

describe('the quota of a tenant, over two servers', function () {
  this.timeout(120_000);

  it('is judged as the rules say after every history, whichever server was asked what', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
        await using fleet = await twoServers(() => 0);
        const model = new Model();
        for (const [i, each] of steps.entries()) {
          const expected = model.take(each);
          const { status, text } = await ask(fleet.app(each.at), each);
          assert.equal(status, expected, `step ${i}, ${JSON.stringify(each)}: ${text}`);
        }
      }),
      { numRuns: 40, seed: 20_261_130 },
    );
  });

  it('is never exceeded when everything is asked at once', async () => {
    const kept = step.filter(({ act }) => act !== 'quota');
    await fc.assert(
      fc.asyncProperty(fc.array(kept, { minLength: 40, maxLength: 80 }), async (steps) => {
        await using fleet = await twoServers(() => 1);
        for (let vm = 0; vm < ROOM.maxVMs; vm++)
          assert.equal((await ask(fleet.app(vm), { act: 'create', power: 'Stopped', vm, at: 0 })).status, 201);
        const answers = await Promise.all(steps.map((each) => ask(fleet.app(each.at), each)));
        for (const { status, text } of answers) assert.ok([200, 201, 403, 404, 409].includes(status), text);
        const peak = await peakUse(fleet.store, 'red');
        assert.ok(peak.vms <= ROOM.maxVMs && peak.vcpus <= ROOM.maxVCPUs, JSON.stringify(peak));
      }),
      { numRuns: 30, seed: 20_261_131 },
    );
  });
});
