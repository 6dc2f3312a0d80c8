import type { Entry } from '../store.ts';
import type { Source } from './batches.ts';
import type { Fencing } from './fencing.ts';
import { choose } from './identity.ts';
import { entryOf } from './layout.ts';
import { decodeRange, encodeRange, RANGE_PATH } from './range-messages.ts';

/** One key as etcd has it now; where only members write, at a moment when this process was one. */
export async function readKey(
  { connection, layout, revisions }: Source,
  key: string,
  fencing: Fencing | undefined,
  signal: AbortSignal | undefined,
): Promise<Entry | undefined> {
  const range = { keys: layout.key(key) };
  if (fencing === undefined) {
    const [pair] = decodeRange(await connection.ask(RANGE_PATH, encodeRange(range), signal)).pairs;
    return pair && entryOf(pair, key, revisions);
  }
  for (;;) {
    const fence = fencing.fence ?? (await fencing.enter(connection.deadline()));
    const { met, revision, answers } = await choose(
      connection,
      { when: [fence], whenMet: [{ range }], otherwise: [] },
      signal,
    );
    if (met) {
      fencing.told(revisions.ours(revision));
      const [pair] = answers[0]?.pairs ?? [];
      return pair && entryOf(pair, key, revisions);
    }
    fencing.refused(fence);
  }
}
