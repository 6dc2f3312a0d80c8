/** A process that takes and frees a lock when it is told to on stdin, a word a line, and tells what came of it. */
import { createInterface } from 'node:readline';
import { takeLock } from '../../../cli/serve/lock.ts';
import { procProcesses, psProcesses } from '../../../nodelet/drivers/qemu/host-processes.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';

const processes = process.platform === 'linux' ? procProcesses('/proc') : psProcesses(systemClock);
const [path = ''] = process.argv.slice(2);
let lock: Disposable | undefined;
for await (const word of createInterface({ input: process.stdin })) {
  let answer = 'freed';
  if (word === 'take') {
    const deps = { processes, pid: process.pid, clock: systemClock };
    lock = await takeLock(path, deps).catch((error: Error) => {
      answer = error.message;
      return undefined;
    });
    if (lock !== undefined) answer = 'won';
  } else {
    lock?.[Symbol.dispose]();
  }
  process.stdout.write(`${answer}\n`);
}
