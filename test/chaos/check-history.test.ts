import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Random } from '../fuzz/random.ts';
import { checkHistory } from './check-history.ts';
import type { History } from './history.ts';
import { FAULTS } from './injected-faults.ts';
import { SimulatedHistory } from './simulated-history.ts';

const RUNS = 100;
const worlds = fc.record({
  seed: fc.integer(),
  clients: fc.integer({ min: 2, max: 5 }),
  steps: fc.integer({ min: 60, max: 200 }),
});

describe('the history checker', () => {
  it('finds nothing wrong with a store that keeps its promises', () => {
    fc.assert(
      fc.property(worlds, ({ seed, clients, steps }) => {
        assert.deepEqual(checkHistory(new SimulatedHistory(new Random(seed), clients, steps)), []);
      }),
      { numRuns: RUNS },
    );
  });

  it('finds an acknowledged write that is lost, whichever it is', () => {
    fc.assert(
      fc.property(worlds, fc.nat({ max: 15 }), ({ seed, clients, steps }, loses) => {
        const history = new SimulatedHistory(new Random(seed), clients, steps, loses);
        const lost = history.operations.some(
          (each) => each.outcome === 'ok' && 'version' in each && !isSeen(history, each.version),
        );
        fc.pre(lost);
        assert.notDeepEqual(checkHistory(history), []);
      }),
      { numRuns: RUNS },
    );
  });

  for (const { name, rules, inject } of FAULTS) {
    it(`finds ${name}`, () => {
      fc.assert(
        fc.property(worlds, ({ seed, clients, steps }) => {
          const random = new Random(seed);
          const history = inject(new SimulatedHistory(random, clients, steps), random);
          fc.pre(history !== undefined);
          const found = checkHistory(history).map(({ rule }) => rule);
          assert.ok(
            found.some((rule) => rules.includes(rule)),
            `found only ${found.join(', ') || 'nothing'}`,
          );
        }),
        { numRuns: RUNS },
      );
    });
  }
});

function isSeen({ operations }: History, version: number | undefined): boolean {
  return operations.some(
    (each) =>
      each.kind === 'watch' && each.events.some((event) => event.version === version && event.key !== undefined),
  );
}
