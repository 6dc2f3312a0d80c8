import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { EtcdServer, needEtcd } from '../../harness/etcd-server.ts';
import { EtcdHome } from './etcd-home.ts';

const ASKERS = 200;

describe('asking etcd for the latest revision', () => {
  before(function () {
    needEtcd(this);
  });

  it('takes one question for all who ask while another is under way, and tells each of what was written before it asked', async () => {
    await using etcd = await EtcdServer.start();
    await using home = new EtcdHome(etcd);
    const [ours, others] = [await home.open(), await home.open()];
    const before = await rangesOf(etcd);
    const answers: Promise<void>[] = [];
    for (let i = 0; i < ASKERS; i++) {
      const known = others.revision();
      answers.push(ours.latest().then((latest) => assert.ok(latest >= known, `${latest} is older than ${known}`)));
      if (i % 20 === 0)
        await others.txn({ compares: [], puts: [{ key: '/a', value: new Uint8Array([i]) }], deletes: [] }).done;
      // A turn of the loop: what is asked in one turn is one question anyhow.
      await setImmediate();
    }
    await Promise.all(answers);
    const asked = (await rangesOf(etcd)) - before;
    assert.ok(asked < ASKERS / 2, `${ASKERS} askers took ${asked} questions`);
  });
});

/** How many ranges etcd was asked for, as it counts them. */
async function rangesOf(etcd: EtcdServer): Promise<number> {
  const metrics = await (await fetch(`${etcd.endpoint}/metrics`)).text();
  return Number(/^grpc_server_started_total\{grpc_method="Range",.*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}
