/**
 * A process to be halted and killed: opens a store in etcd as the machine named, says `sole` once it need not ask etcd, and writes `key value` of each line it
 * reads, answered by `at REVISION`. Arguments: endpoint, root, name of the machine.
 */
import { createInterface } from 'node:readline';
import { openEtcdStore } from '../../../apiserver/store/etcd/open-store.ts';
import { processMark } from '../../../cli/serve/controllers/process-mark.ts';
import { machineProcesses } from '../../../nodelet/drivers/qemu/machine-processes.ts';
import { systemClock as clock } from '../../../resources/ambient/system-clock.ts';
import { systemIds as ids } from '../../../resources/ambient/system-ids.ts';
import { until } from '../../harness/until.ts';
import { write } from './store-maker.ts';

const [endpoint = '', root = '', hostname = ''] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
const processes = machineProcesses(clock);
const holderMark = () => processMark({ processes, hostname, pid: process.pid });
await using store = await openEtcdStore({ endpoints: [endpoint], root, clock, ids, holderMark });
say('open');
const watching = until('it is alone', () => store.present() !== undefined, 600_000).then(() => say('sole'));
watching.catch(() => {});
for await (const line of createInterface({ input: process.stdin })) {
  const [key = '', value = ''] = line.split(' ');
  say(`at ${await write(store, { put: { [key]: value } })}`);
}
process.exit();
