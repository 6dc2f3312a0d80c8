import { join } from 'node:path';
import type { Goal } from './goal.ts';
import { atMost } from './harness.ts';
import { timeProcess } from './time-process.ts';

/** The CLI's start: `coppice version` to its end, against Node.js itself. */
export const cliStart: Goal = {
  names: ['cli'],
  async open({ clock, packageRoot }) {
    const coppice = join(packageRoot, 'bin', 'coppice');
    const run = () => timeProcess(clock, coppice, ['version', '--kubeconfig', '/dev/null']);
    // The first run after a change compiles.
    await run();
    return [
      {
        goal: 'cli',
        title: 'coppice version',
        unit: 'ms',
        ours: run,
        control: { title: 'node -e 0', take: () => timeProcess(clock, process.execPath, ['-e', '0']) },
        must: atMost(250, 'ms'),
      },
    ];
  },
};
