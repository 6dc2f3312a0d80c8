import assert from 'node:assert/strict';
import type { JsonObject } from '../../../resources/meta/object.ts';
import { FakeApi } from '../../harness/fake-api.ts';
import { CliFolder } from '../../harness/run-cli.ts';
import { until } from '../../harness/until.ts';

const SINCE = '2026-03-01T00:00:00Z';

describe('drains from the command line', function () {
  this.timeout(30_000);
  let api: FakeApi;
  let folder: CliFolder;
  beforeEach(async () => {
    api = await FakeApi.start();
    folder = await CliFolder.make(api);
    host();
  });
  afterEach(async () => {
    await api[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  function host(spec: JsonObject = {}, status: JsonObject = {}, generation = 2): void {
    api.put('hosts', { metadata: { name: 'mac-1', generation }, spec: { group: 'default', ...spec }, status });
  }
  const run = (...argv: string[]) => folder.run(argv);
  const writes = () =>
    api.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, url, body }) => `${method} ${url.split('?')[0]?.split('/v1/')[1]} ${body}`);
  const drained = (status: string, message: string, observedGeneration = 2) => ({
    conditions: [{ type: 'Drained', status, reason: 'Test', message, observedGeneration, lastTransitionTime: SINCE }],
  });
  const awaited = () =>
    until('the answer is waited for', () => api.requests.some(({ url }) => url.includes('watch=true')));
  const drain = { mode: 'Reschedule' };

  it('say the mode in the words of the API, and wait until the host is drained', async () => {
    const running = run('drain', 'host/mac-1', '--mode', 'reschedule');
    await awaited();
    host({ drain }, drained('True', 'of an earlier one', 1));
    host({ drain }, drained('False', '1 VM goes'));
    host({ drain }, drained('True', 'it takes no new VM; no VM is left'));
    const { code, stdout, stderr } = await running;
    assert.deepEqual(
      [code, stdout, stderr],
      [0, 'host.coppice.dev/mac-1 drained: it takes no new VM; no VM is left\n', ''],
    );
    assert.deepEqual(writes(), ['PATCH hosts/mac-1 {"spec":{"drain":{"mode":"Reschedule","force":null}}}']);
  });

  it('keep everything unless told otherwise, and do not wait where that is not wanted', async () => {
    assert.equal((await run('drain', 'mac-1', '--no-wait')).stdout, 'host.coppice.dev/mac-1 drain requested\n');
    await run('drain', 'mac-1', '--force', '--mode', 'evict-ephemeral', '--no-wait');
    assert.deepEqual(writes(), [
      'PATCH hosts/mac-1 {"spec":{"drain":{"mode":"Cordon","force":null}}}',
      'PATCH hosts/mac-1 {"spec":{"drain":{"mode":"EvictEphemeral","force":true}}}',
    ]);
    const wrong = await run('drain', 'mac-1', '--mode', 'Reschedule');
    assert.deepEqual([wrong.code, /cordon, evict-ephemeral, reschedule/.test(wrong.stderr)], [1, true]);
    assert.match((await run('drain')).stderr, /^error: name the host\n/);
  });

  it('say what stands in the way when the time is up', async () => {
    const running = run('drain', 'mac-1', '--mode', 'reschedule', '--timeout', '1s');
    await awaited();
    const waiting = [
      { vm: 'red/a', reason: '0 of 2 hosts fit' },
      { vm: 'red/long', reason: 'host mac-1 is not heard' },
    ];
    host({ drain }, { ...drained('False', '2 VMs go'), drain: { waiting } });
    const { code, stderr } = await running;
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: mac-1 is not drained yet: 2 VMs go\nred\/a waits: +0 of 2 hosts fit\nred\/long waits: host mac-1/,
    );
    assert.match(stderr, /\nhint: .*coppice drain-status mac-1/);
  });

  it('say that nobody looks, and tell of a drain that was ended, or a host that went, meanwhile', async () => {
    host({ drain });
    const nobody = await run('drain', 'mac-1', '--timeout', '1s');
    assert.match(nobody.stderr, /^error: mac-1 is not drained yet: no controllers have looked at it yet\n/);
    api.requests.length = 0;
    const ended = run('drain', 'mac-1');
    await awaited();
    host();
    assert.match((await ended).stderr, /^error: the drain of mac-1 was ended meanwhile/);
    api.requests.length = 0;
    const gone = run('drain', 'mac-1');
    await awaited();
    api.remove('hosts', 'mac-1');
    assert.match((await gone).stderr, /^error: host mac-1 was deleted meanwhile/);
  });

  it('are told of, for people and for programs', async () => {
    assert.equal((await run('drain-status', 'mac-1')).stdout, 'host.coppice.dev/mac-1 is not being drained\n');
    host({ cordoned: true });
    assert.match((await run('drain-status', 'mac-1')).stdout, /is not being drained; it is cordoned\n$/);
    host({ drain });
    assert.match((await run('drain-status', 'mac-1')).stdout, /\nDrained +Unknown\n$/);
    const waiting = [{ vm: 'red/a', reason: 'no room' }];
    const progress = { mode: 'Reschedule', startedAt: SINCE, evicting: 1, rescheduling: 2, kept: 3, waiting };
    host({ drain, cordoned: true }, { ...drained('False', '3 VMs go'), drain: progress });
    assert.equal(
      (await run('drain-status', 'mac-1')).stdout,
      [
        'Host      mac-1',
        'Mode      Reschedule',
        `Since     ${SINCE}`,
        'Drained   False (Test): 3 VMs go',
        'Going     1',
        'Moving    2',
        'Staying   3',
        '',
        'red/a waits: no room',
        '',
      ].join('\n'),
    );
    const json = JSON.parse((await run('drain-status', 'mac-1', '-o', 'json')).stdout);
    assert.deepEqual([json.host, json.drain, json.progress, json.drained.status], ['mac-1', drain, progress, 'False']);
  });

  it('take several hosts, none of which is drained where one is not there, and say which are not in time', async () => {
    const other = (status: JsonObject) =>
      api.put('hosts', { metadata: { name: 'mac-2', generation: 2 }, spec: { group: 'default', drain }, status });
    const wrong = await run('drain', 'mac-1', 'mac-2');
    assert.deepEqual([wrong.code, writes()], [1, []]);
    other({});
    const asked = await run('drain', 'mac-1', 'host/mac-2', '--no-wait');
    assert.match(asked.stdout, /^host.coppice.dev\/mac-1 drain requested\nhost.coppice.dev\/mac-2 drain requested\n$/);
    host({ drain }, drained('False', '1 VM goes'));
    other(drained('True', 'no VM is left'));
    const half = await run('drain', 'mac-1', 'mac-2', '--mode', 'reschedule', '--timeout', '1s');
    assert.deepEqual([half.code, half.stdout], [1, 'host.coppice.dev/mac-2 drained: no VM is left\n']);
    assert.match(half.stderr, /^error: mac-1 is not drained yet: 1 VM goes\n/);
    other(drained('False', '2 VMs go'));
    const none = await run('drain', 'mac-1', 'mac-2', '--timeout', '1s');
    assert.match(
      none.stderr,
      /^error: mac-1 is not drained yet: 1 VM goes\n[\s\S]*error: mac-2 is not drained yet: 2 VMs go\n/,
    );
  });

  it('are told of all at once, where no host is named', async () => {
    assert.equal((await run('drain-status')).stdout, 'no host is being drained\n');
    api.put('hosts', { metadata: { name: 'mac-2', generation: 2 }, spec: { group: 'default' }, status: {} });
    const progress = { mode: 'Reschedule', startedAt: SINCE, evicting: 1, rescheduling: 2, kept: 3 };
    host({ drain }, { ...drained('False', '3 VMs go'), drain: progress });
    const { stdout } = await run('drain-status');
    assert.match(
      stdout,
      /^HOST +MODE +DRAINED +GOING +MOVING +STAYING *\nmac-1 +Reschedule +False +1 +2 +3 +3 VMs go\n$/,
    );
    const json = JSON.parse((await run('drain-status', '-o', 'json')).stdout);
    assert.deepEqual(
      json.map(({ host: name }: { host: string }) => name),
      ['mac-1'],
    );
    const both = await run('drain-status', 'mac-1', 'mac-2');
    assert.match(both.stdout, /^Host +mac-1\n[\s\S]*\n\nhost.coppice.dev\/mac-2 is not being drained\n$/);
  });

  it('are ended by uncordon, together with the cordon', async () => {
    host({ drain, cordoned: true });
    assert.equal((await run('uncordon', 'mac-1')).stdout, 'host.coppice.dev/mac-1 uncordoned, its drain ended\n');
    assert.deepEqual(writes(), ['PATCH hosts/mac-1 {"spec":{"cordoned":null,"drain":null}}']);
  });
});
