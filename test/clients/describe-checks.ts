import assert from 'node:assert/strict';
import Mocha from 'mocha';
import { type ChecksOptions, runChecks } from './client-checks.ts';
import { ClientWorld } from './client-world.ts';

/** How to run a program of checks. */
type ChecksProgram = Pick<ChecksOptions, 'program' | 'args' | 'env'>;

interface ChecksSuite {
  readonly title: string;
  /** Makes the program ready to run; answers why it cannot be had here, when that is no fault of ours. */
  readonly prepare: () => Promise<ChecksProgram | { readonly why: string }>;
  readonly prepareMs: number;
  readonly runMs: number;
  /** At least so many checks have to be told of. */
  readonly atLeast: number;
}

/** A suite of tests, one for each thing that a program of another language tries. Skipped, saying why, where its language is not to be had. */
export function describeChecks({ title, prepare, prepareMs, runMs, atLeast }: ChecksSuite): void {
  describe(title, function () {
    this.timeout(prepareMs + runMs + 30_000);

    before(async function () {
      const made = await prepare();
      if ('why' in made) {
        console.log(`skipped: ${title}: ${made.why}`);
        this.skip();
      }
      await using world = await ClientWorld.open();
      const { checks, failure } = await runChecks({ world, ...made, limitMs: runMs });
      const parent = this.test?.parent;
      assert.ok(parent !== undefined);
      for (const { name, error } of checks)
        parent.addTest(new Mocha.Test(name, () => assert.equal(error, undefined, error)));
      parent.addTest(
        new Mocha.Test('and nothing else goes wrong', () => {
          assert.equal(failure, undefined, failure);
          assert.ok(checks.length >= atLeast, `only ${checks.length} things were tried`);
        }),
      );
    });

    // Mocha runs `before` only for a suite that has a test to begin with.
    it('runs against the server', () => {});
  });
}
