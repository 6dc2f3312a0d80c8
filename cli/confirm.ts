import { createInterface } from 'node:readline/promises';
import { Failure } from './failure.ts';
import type { Io } from './io.ts';

/** On a terminal a person decides; elsewhere nobody is there to ask, and the command needs its -y. `what`: `this deletes vm/web`. */
export async function confirm(
  io: Io,
  { what, question, undone }: { readonly what: string; readonly question: string; readonly undone: string },
): Promise<void> {
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
    throw new Failure(what, { hint: 'add -y to go ahead without being asked' });
  }
  const asking = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await asking.question(`${question} [y/N] `, { signal: io.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(undone);
  } finally {
    asking.close();
  }
}
