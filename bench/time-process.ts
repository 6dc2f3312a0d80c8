import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../resources/ambient/clock.ts';

/** Milliseconds from starting a program to its end. Throws when it does not end well. */
export async function timeProcess(
  clock: Clock,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const began = clock.monotonic();
  const [code] = await once(spawn(program, args, { stdio: 'ignore', env }), 'exit');
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`);
  return clock.monotonic() - began;
}
