import { checkLists } from './check-lists.ts';
import { checkRegister } from './check-register.ts';
import { checkWatches } from './check-watches.ts';
import { Chronicle } from './chronicle.ts';
import type { History } from './history.ts';
import { stepsByKey } from './register-steps.ts';
import type { Violation } from './violation.ts';

/** Every promise of the API that a history shows broken: no acknowledged write is lost, no fresh read is stale, no watch has a gap or a repeat, and versions only grow. */
export function checkHistory(history: History): Violation[] {
  const chronicle = new Chronicle(history);
  const registers = [...stepsByKey(history, chronicle)].flatMap(([key, steps]) => checkRegister(key, steps) ?? []);
  return [
    ...chronicle.violations,
    ...registers,
    ...checkLists(history, chronicle),
    ...checkWatches(history, chronicle),
  ];
}
