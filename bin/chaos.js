// `npm run chaos`: clients of real servers while processes are killed, halted and cut off, judged by what they were told.
import './check-node.js';
import { fileURLToPath } from 'node:url';
import { ensureEtcd, ensurePackages, fail } from './setup.js';

const root = fileURLToPath(new URL('..', import.meta.url));
try {
  await ensurePackages(root);
  await ensureEtcd(root);
} catch (error) {
  fail(error);
}
await import('../test/chaos/main.ts');
