import { kubectlPath } from './find-kubectl.ts';
import { type KubectlSession, KubectlWorld } from './kubectl-world.ts';

/** What one test does at its shell. */
type Commands = (session: KubectlSession) => Promise<void>;

/** So many tests at once: kubectl waits for the server most of the time. */
const AT_ONCE = 4;

/** Tests that run kubectl, by title. They run beside each other, each in a namespace of its own; without kubectl they are skipped aloud. */
export function describeCommands(title: string, tests: Readonly<Record<string, Commands>>): void {
  describe(title, function () {
    this.timeout(120_000);
    const namespaceOf = new Map(Object.keys(tests).map((name, i) => [name, `t-${i}`]));
    const outcomes = new Map(Object.keys(tests).map((name) => [name, Promise.withResolvers<void>()]));
    let world: KubectlWorld | undefined;

    before(async function () {
      const kubectl = kubectlPath();
      if (typeof kubectl !== 'string') {
        console.log(`      skipped: ${kubectl.why}`);
        this.skip();
      }
      world = await KubectlWorld.open(kubectl, [...namespaceOf.values()]);
      const waiting = Object.entries(tests);
      for (let i = 0; i < AT_ONCE; i++) void runNext(world, waiting);
    });

    after(async () => {
      await world?.[Symbol.asyncDispose]();
    });

    async function runNext(opened: KubectlWorld, waiting: [string, Commands][]): Promise<void> {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [name, commands] = next;
        const { promise, resolve } = outcomes.get(name) ?? Promise.withResolvers<void>();
        // Told to the test of this name, which may not be waiting for it yet.
        promise.catch(() => {});
        resolve(opened.session(namespaceOf.get(name) ?? 'default').then(commands));
        await promise.catch(() => {});
      }
    }

    for (const name of Object.keys(tests)) it(name, () => outcomes.get(name)?.promise);
  });
}
