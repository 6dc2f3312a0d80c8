import assert from 'node:assert/strict';
import type { DutyName } from '../../controllers/duties.ts';
import type { FleetWorld } from './fleet-world.ts';

/** Which of the victim's requests is its last, and whether the server still gets it. */
export interface Kill {
  readonly at: number;
  readonly when: 'before' | 'after';
}

/** What ends at one of its requests, and begins again. */
export interface Victim {
  readonly counts: (identity: string, method: string, path: string) => boolean;
  /** Whose requests fail until it has begun again. */
  readonly isSilenced: (identity: string, method: string) => boolean;
  readonly end: (world: FleetWorld) => Promise<void>;
  readonly begin: (world: FleetWorld) => void;
}

/** The controllers, at a write of one duty. They begin again with all duties, or with those given. */
export function controllersAt(duty: DutyName, ...again: readonly DutyName[]): Victim {
  return {
    counts: (identity, method, path) =>
      identity === `system:controller:${duty}` && method !== 'GET' && !path.includes('/events'),
    isSilenced: () => true,
    end: (world) => world.stopControllers(),
    begin: (world) => world.startControllers(...again),
  };
}

/** Counts the requests of a victim, and ends it at one of them. Without a kill it only counts. */
export class Killer {
  /** Those so far. */
  counted = 0;
  /** Whether those that come are counted. */
  counting = true;
  #dead = false;
  #again: Promise<void> | undefined;
  readonly #world: FleetWorld;
  readonly #victim: Victim;

  constructor(world: FleetWorld, victim: Victim, kill: Kill | undefined) {
    this.#world = world;
    this.#victim = victim;
    const counts = (identity: string, method: string, path: string) =>
      this.counting && victim.counts(identity, method, path);
    world.fleet.onRequest = (identity, { method, path }) => {
      if (this.#dead && victim.isSilenced(identity, method)) throw new Error('dead');
      if (!counts(identity, method, path)) return;
      const now = this.counted++;
      if (kill?.when === 'before' && kill.at === now) this.#strike();
    };
    world.fleet.onAnswer = (identity, { method, path }) => {
      if (kill?.when === 'after' && counts(identity, method, path) && this.counted > kill.at) this.#strike();
    };
  }

  /** Resolves when the victim, if it was ended, has begun again. */
  async healed(): Promise<void> {
    await this.#again;
  }

  #strike(): void {
    if (this.#again !== undefined) return;
    this.#dead = true;
    this.#again = this.#victim.end(this.#world).then(() => {
      this.#dead = false;
      this.#victim.begin(this.#world);
    });
    throw new Error('killed');
  }
}

/** One run of a story: what is told of its end, and how many requests were counted in it. */
export interface Life {
  readonly told: unknown;
  readonly counted: number;
}

/** Tells a story without a kill, then with one before and one after each request that counts: it must end as expected each time. */
export async function endsAlike(
  live: (kill?: Kill) => Promise<Life>,
  expected: { readonly told: unknown; readonly least: number },
): Promise<void> {
  const calm = await live();
  assert.ok(calm.counted >= expected.least, `${calm.counted} requests`);
  assert.deepEqual(calm.told, expected.told);
  for (let at = 0; at < calm.counted; at++) {
    for (const when of ['before', 'after'] as const)
      assert.deepEqual((await live({ at, when })).told, calm.told, `killed ${when} request ${at} of ${calm.counted}`);
  }
}
