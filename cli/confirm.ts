import { createInterface } from 'node:readline/promises';
import { Failure } from './failure.ts';
import type { Io } from './io.ts';

/** What somebody is asked before it is done. */
export interface Deed {
  /** `this deletes …`: told where nobody is there to ask. */
  readonly tells: string;
  /** `Delete …?`. */
  readonly asks: string;
  /** `nothing was deleted`: the answer to a no. */
  readonly undone: string;
}

/** On a terminal a person decides; elsewhere nobody is there to ask. Throws a `Failure` unless the answer is yes. */
export async function confirm(io: Io, { tells, asks, undone }: Deed): Promise<void> {
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true)
    throw new Failure(tells, { hint: 'add -y to go ahead without being asked' });
  const asking = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await asking.question(`${asks} [y/N] `, { signal: io.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(undone);
  } finally {
    asking.close();
  }
}
