import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { VM } from '../../resources/kinds/vm.ts';
import { NodeletWorld } from './nodelet-world.ts';

type Power = VM['spec']['power'];
type Step =
  | { readonly do: 'create'; readonly power: Power }
  | { readonly do: 'power'; readonly vm: number; readonly power: Power }
  | { readonly do: 'delete' | 'vanish' | 'crash'; readonly vm: number }
  | { readonly do: 'restart' }
  | { readonly do: 'wait'; readonly ms: number };

const power = fc.constantFrom<Power>('Running', 'Running', 'Stopped', 'Paused');
const vm = fc.nat({ max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('create' as const), power }),
  fc.record({ do: fc.constant('power' as const), vm, power }),
  fc.record({ do: fc.constantFrom('delete' as const, 'vanish' as const, 'crash' as const), vm }),
  fc.record({ do: fc.constant('restart' as const) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2000 }) }),
);

const HISTORIES = Number(process.env.COPPICE_HISTORIES ?? 25);

describe('histories of a nodelet', () => {
  it('end where the objects say, and lose no guest that nobody asked to delete', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 40, size: 'max' }), async (steps) => {
        await using history = await History.make();
        // Something to go wrong with from the first step on.
        for (const power of ['Running', 'Running', 'Paused'] as const) await history.take({ do: 'create', power });
        for (const one of steps) await history.take(one);
        await history.rest();
        history.check();
      }),
      { numRuns: HISTORIES },
    );
  }).timeout(5_000 + HISTORIES * 1_000);
});

/** One history: what was done, and what may therefore be. */
class History implements AsyncDisposable {
  readonly #world: NodeletWorld;
  readonly #names: string[] = [];
  readonly #deleted = new Set<string>();
  /** Guests whose object vanished before anybody asked to delete it. */
  readonly #orphaned = new Set<string>();
  readonly #removed: string[] = [];

  private constructor(world: NodeletWorld) {
    this.#world = world;
  }

  static async make(): Promise<History> {
    const history = new History(await NodeletWorld.make());
    await history.#world.start();
    return history;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#world[Symbol.asyncDispose]();
  }

  async take(one: Step): Promise<void> {
    const world = this.#world;
    switch (one.do) {
      case 'create': {
        const name = `vm-${this.#names.length}`;
        this.#names.push(name);
        await world.aVM(name, { power: one.power });
        break;
      }
      case 'restart':
        await world.stop();
        this.#collect();
        await world.start();
        break;
      case 'wait':
        for (let passed = 0; passed < one.ms; passed += 50) await world.pass(50);
        break;
      default:
        await this.#change(one);
    }
    await world.pass(1);
  }

  /** Until nothing is written any more. */
  async rest(): Promise<void> {
    let writes = -1;
    while (writes !== this.#world.api.writes.length) {
      writes = this.#world.api.writes.length;
      await this.#world.quiet();
      // The store guard's file is real: its answers come in real time.
      await this.#world.until('the host is told of', () => this.#world.host()?.status?.capacity);
      await this.#world.until('what is to go is gone', () => this.#names.every((name) => !this.#goes(name)));
    }
    this.#collect();
  }

  check(): void {
    for (const id of this.#removed) assert.ok(this.#deleted.has(id), `${id} was removed, nobody asked for that`);
    for (const id of this.#orphaned) assert.ok(this.#world.guests.has(id), `${id} is an orphan and was lost`);
    for (const name of this.#names) this.#checkVM(name);
    const orphans = this.#world.host()?.status?.orphans?.map(({ id }) => id) ?? [];
    assert.deepEqual(orphans, [...this.#orphaned].sort());
  }

  #checkVM(name: string): void {
    const vm = this.#world.vm(name);
    if (vm === undefined) return;
    const guest = this.#world.guests.get(`uid-${name}`);
    const crashed = guest?.stopReason === 'Crashed';
    const phase = vm.status?.phase;
    if (vm.spec.power === 'Stopped') assert.equal(phase, 'Stopped');
    else if (crashed) assert.equal(phase, 'Interrupted');
    else if (vm.spec.power === 'Running') assert.equal(phase, 'Running');
    else assert.ok(phase === 'Paused' || phase === 'Stopped');
    assert.equal(guest?.power ?? 'Off', phase === 'Running' || phase === 'Paused' ? phase : 'Off');
    if (guest !== undefined) assert.equal(vm.status?.guest?.power, guest.power);
  }

  async #change(one: Extract<Step, { readonly vm: number }>): Promise<void> {
    const world = this.#world;
    const name = this.#names[one.vm];
    const vm = name === undefined ? undefined : world.vm(name);
    if (name === undefined || vm === undefined) return;
    const id = `uid-${name}`;
    if (one.do === 'power') world.set(name, { power: one.power });
    else if (one.do === 'crash') await world.crash(name);
    else if (one.do === 'delete') {
      this.#deleted.add(id);
      world.api.delete('vms', `demo/${name}`);
    } else if (!this.#deleted.has(id)) {
      // Only what is at rest: a guest half made when its object vanishes may be there or not.
      for (let i = 0; i < 40; i++) await world.pass(50);
      if (world.guests.has(id)) this.#orphaned.add(id);
      world.api.vanish('vms', `demo/${name}`);
    }
  }

  #goes(name: string): boolean {
    return this.#world.vm(name)?.metadata.deletionTimestamp !== undefined;
  }

  #collect(): void {
    for (const call of this.#world.driver.calls) if (call.startsWith('remove ')) this.#removed.push(call.slice(7));
  }
}
