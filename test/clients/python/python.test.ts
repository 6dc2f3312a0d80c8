import { join } from 'node:path';
import { describeChecks } from '../describe-checks.ts';
import { pythonWith } from './python-with.ts';

const INSTALL_MS = 180_000;

describeChecks({
  title: 'the Python client',
  prepareMs: INSTALL_MS,
  runMs: 60_000,
  atLeast: 15,
  prepare: async () => {
    const python = await pythonWith(join(import.meta.dirname, 'requirements.txt'), AbortSignal.timeout(INSTALL_MS));
    if (typeof python !== 'string') return python;
    return { program: python, args: [join(import.meta.dirname, 'checks.py')], env: { PYTHONDONTWRITEBYTECODE: '1' } };
  },
});
