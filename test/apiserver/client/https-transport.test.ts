import assert from 'node:assert/strict';
import { ApiClient, bodyText } from '../../../apiserver/client/client.ts';
import { type Connection, HttpsTransport } from '../../../apiserver/client/https-transport.ts';
import { MultiplexedTransport } from '../../../apiserver/client/multiplexed-transport.ts';
import { VMS } from '../../../cli/vm-ref.ts';
import { FakeApi, TOKEN } from '../../harness/fake-api.ts';

const anObject = (name: string) => ({
  apiVersion: 'coppice.dev/v1',
  kind: 'VM',
  metadata: { name, namespace: 'demo' },
});

type Opened = HttpsTransport | MultiplexedTransport;

const WAYS: readonly {
  readonly name: string;
  readonly make: (connection: Connection) => Opened;
  readonly multiplexed: boolean;
}[] = [
  { name: 'HTTPS', make: (connection) => new HttpsTransport(connection), multiplexed: true },
  { name: 'one connection', make: (connection) => new MultiplexedTransport(connection), multiplexed: true },
  { name: 'HTTPS for want of more', make: (connection) => new MultiplexedTransport(connection), multiplexed: false },
];

for (const { name, make, multiplexed } of WAYS)
  describe(`requests over ${name}`, () => {
    let api: FakeApi;
    before(async () => {
      api = await FakeApi.start(multiplexed);
    });
    after(() => api[Symbol.asyncDispose]());

    const open = (more: object = {}) =>
      make({
        server: api.url,
        ca: api.certificate.ca,
        authorization: async () => `Bearer ${TOKEN}`,
        ...more,
      });
    const ask = (transport: Opened, signal?: AbortSignal) =>
      transport.send({ method: 'GET', path: '/version', ...(signal === undefined ? {} : { signal }) });

    it('carry the authorization, and bodies both ways', async () => {
      await using transport = open();
      const client = new ApiClient(transport.send).resource(VMS, 'demo');
      const text = 'ü'.repeat(100_000);
      await client.create({ ...anObject('big'), spec: { text } });
      assert.equal(((await client.get('big')).spec as { text: string }).text, text);
    });

    it('answer errors of the server as responses', async () => {
      await using transport = open({ authorization: async () => 'Bearer wrong' });
      const response = await ask(transport);
      assert.equal(response.status, 401);
      assert.match(await bodyText(response), /Unauthorized/);
    });

    it('keep to a path prefix of the server', async () => {
      await using transport = open({ server: `${api.url}/base/` });
      const response = await ask(transport);
      await bodyText(response);
      assert.equal(api.requests.at(-1)?.url, '/base/version');
    });

    it('stream a watch until its signal aborts', async () => {
      await using transport = open();
      const stop = new AbortController();
      const events = await new ApiClient(transport.send)
        .resource(VMS, 'demo')
        .watch({ resourceVersion: '999' }, stop.signal);
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { object } of events) {
          seen.push(object.metadata.name);
          if (seen.length === 2) stop.abort(new Error('enough'));
        }
      })();
      api.put('vms', anObject('w1'));
      api.put('vms', anObject('w2'));
      await assert.rejects(reading, { message: 'enough' });
      assert.deepEqual(seen, ['w1', 'w2']);
    });

    it('say in a sentence when an answer breaks off', async () => {
      await using transport = open();
      const events = await new ApiClient(transport.send).resource(VMS, 'demo').watch({}, new AbortController().signal);
      const reading = (async () => {
        for await (const _ of events) api.dropConnections();
      })();
      await assert.rejects(reading, { name: 'UnreachableError', reason: 'broken' });
    });

    it('reject with the reason of a signal that has aborted', async () => {
      await using transport = open();
      await assert.rejects(ask(transport, AbortSignal.abort(new Error('stopped'))), { message: 'stopped' });
    });

    it('say in a sentence why there is no answer', async () => {
      const { ca: _, ...trustless } = { server: api.url, ca: '' };
      await using stranger = make(trustless);
      await assert.rejects(ask(stranger), { name: 'UnreachableError', reason: 'untrusted' });
      await using wrongName = open({ serverName: 'elsewhere.example' });
      await assert.rejects(ask(wrongName), { reason: 'untrusted' });
      await using nowhere = make({ server: 'https://127.0.0.1:1' });
      await assert.rejects(ask(nowhere), { reason: 'refused', message: 'nothing listens at https://127.0.0.1:1' });
      assert.throws(() => make({ server: 'http://h' }), { message: /not https/ });
    });

    it('trust anyone only when told to', async () => {
      await using transport = make({ server: api.url, insecure: true });
      assert.equal((await ask(transport)).status, 401);
    });
  });
