import assert from 'node:assert/strict';
import { type Logger, silentLogger } from '../../../resources/ambient/log.ts';
import { etcdForEach } from '../../harness/etcd-for-each.ts';
import type { EtcdServer } from '../../harness/etcd-server.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';
import { until } from '../../harness/until.ts';
import { EtcdHome } from './etcd-home.ts';

const PATH = '/api/v1/namespaces/default/events';
const EVENT = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' }, involvedObject: {}, reason: 'r' };

describe('a server whose etcd is away', function () {
  this.timeout(120_000);
  let etcd: EtcdServer;
  etcdForEach((started) => {
    etcd = started;
  });

  for (const [how, leave, comeBack] of [
    ['gone', () => etcd.stop(), () => etcd.start()],
    ['hanging', async () => etcd.pause(), async () => etcd.resume()],
  ] as const) {
    it(`says so while it is ${how}, refuses at once, and is ready again when it is back`, async () => {
      await using home = new EtcdHome(etcd);
      const lines: string[] = [];
      const store = await home.open({ log: logInto(lines) });
      await using test = await startTestServer({ store });
      const { app } = test.server;
      const health = async (path: string) => {
        const { status, text } = await send(app, 'GET', path);
        return { status, text };
      };
      assert.match((await health('/readyz?verbose')).text, /^\[\+\]store ok$/m);
      await leave();
      try {
        // Asked before the outage is known: the last of these takes about ten seconds from when it is.
        const early: Promise<string>[] = [];
        const ask = () => {
          early.push(send(app, 'GET', PATH).then(() => 'early'));
        };
        ask();
        const asking = setInterval(ask, 500);
        await until('it is not ready', async () => (await health('/readyz')).status === 503, 60_000);
        clearInterval(asking);
        assert.match((await health('/readyz')).text, /^\[-\]store failed: etcd does not answer for \d+ s$/m);
        assert.equal((await health('/livez')).status, 200);
        const late = Promise.all([
          send(app, 'GET', PATH),
          send(app, 'GET', `${PATH}/e`),
          send(app, 'POST', PATH, { body: EVENT }),
        ]);
        assert.equal(await Promise.race([late.then(() => 'late'), early.at(-1)]), 'late');
        for (const { status, headers, text } of await late) {
          assert.equal(status, 503, text);
          assert.equal(headers['retry-after'], '1');
          assert.match(text, /the store is not available: etcd does not answer(: [a-z ]+)?"/);
        }
      } finally {
        await comeBack();
      }
      await until('it is ready', async () => (await health('/readyz')).status === 200, 60_000);
      assert.equal((await send(app, 'GET', PATH)).status, 200);
      assert.deepEqual(
        lines.filter((line) => line !== 'the watch of etcd broke off'),
        ['etcd does not answer', 'etcd answers again'],
      );
      assert.ok(lines.filter((line) => line === 'the watch of etcd broke off').length <= 1);
    });
  }
});

function logInto(lines: string[]): Logger {
  const note: Logger['info'] = (message, { silentSeconds } = {}) => {
    assert.notEqual(silentSeconds, 0);
    lines.push(message);
  };
  return { ...silentLogger, info: note, error: note };
}
