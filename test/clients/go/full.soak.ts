import { describeChecks } from '../describe-checks.ts';
import { goProgram } from './go-program.ts';

/** The API types of Kubernetes, controller-runtime and Flux take some minutes when nothing is compiled yet: too long for `npm test`. */
const COMPILE_MS = 15 * 60_000;

describeChecks({
  title: 'client-go, controller-runtime and Flux',
  prepareMs: COMPILE_MS,
  runMs: 5 * 60_000,
  atLeast: 20,
  prepare: async () => {
    const program = await goProgram('full', AbortSignal.timeout(COMPILE_MS));
    return typeof program === 'string' ? { program, args: [] } : program;
  },
});
