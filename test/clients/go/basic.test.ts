import { describeChecks } from '../describe-checks.ts';
import { goProgram } from './go-program.ts';

/** With nothing compiled yet it takes a minute of both cores; more when they are shared. */
const COMPILE_MS = 300_000;

for (const [lists, feature] of [
  ['streamed', 'true'],
  ['paged', 'false'],
] as const) {
  describeChecks({
    title: `client-go, lists ${lists}`,
    prepareMs: COMPILE_MS,
    runMs: 60_000,
    atLeast: 5,
    prepare: async () => {
      const program = await goProgram('basic', AbortSignal.timeout(COMPILE_MS));
      if (typeof program !== 'string') return program;
      return { program, args: [], env: { KUBE_FEATURE_WatchListClient: feature } };
    },
  });
}
