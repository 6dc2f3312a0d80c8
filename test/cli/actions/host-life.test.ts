import assert from 'node:assert/strict';
import { type JsonObject, valueAt } from '../../../resources/meta/object.ts';
import { FakeApi } from '../../harness/fake-api.ts';
import { CliFolder } from '../../harness/run-cli.ts';
import { until } from '../../harness/until.ts';

const ASKED = '2026-03-01T00:00:00Z';

describe('the life of a host, from the command line', function () {
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

  function host(spec: JsonObject = {}, status: JsonObject = {}): void {
    api.put('hosts', { metadata: { name: 'mac-1' }, spec: { group: 'default', ...spec }, status });
  }
  const run = (...argv: string[]) => folder.run(argv);
  const writes = () =>
    api.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, url, body }) => `${method} ${url.split('?')[0]?.split('/v1/')[1]} ${body}`);
  const askedFor = async (): Promise<string> => {
    await until('a scrub is asked for', () => writes().some((write) => write.includes('requestedAt')));
    await until('its answer is waited for', () => api.requests.some(({ url }) => url.includes('watch=true')));
    return String(valueAt(api.get('hosts', 'mac-1'), ['spec', 'scrub', 'requestedAt']));
  };
  /** Runs a scrub and answers it with this status of the scrub. */
  const scrubAnswered = async (answer: JsonObject, ...argv: string[]) => {
    const running = run('scrub', 'mac-1', ...argv);
    const requestedAt = await askedFor();
    host({ scrub: { requestedAt } }, { scrub: { requestedAt, outcome: 'Waiting', message: 'waits for a while' } });
    host({ scrub: { requestedAt } }, { scrub: { requestedAt, ...answer } });
    return running;
  };

  describe('coppice cordon and uncordon', () => {
    it('set the field, take it away, and do nothing twice', async () => {
      assert.equal((await run('cordon', 'mac-1')).stdout, 'host.coppice.dev/mac-1 cordoned\n');
      assert.equal((await run('cordon', 'host/mac-1')).stdout, 'host.coppice.dev/mac-1 already cordoned\n');
      assert.equal((await run('uncordon', 'mac-1')).stdout, 'host.coppice.dev/mac-1 uncordoned\n');
      assert.equal((await run('uncordon', 'mac-1')).stdout, 'host.coppice.dev/mac-1 already uncordoned\n');
      assert.deepEqual(writes(), [
        'PATCH hosts/mac-1 {"spec":{"cordoned":true}}',
        'PATCH hosts/mac-1 {"spec":{"cordoned":null}}',
      ]);
    });

    it('change nothing when one of the hosts is not there, and want one', async () => {
      assert.match((await run('cordon', 'mac-1', 'mac-9')).stderr, /mac-9/);
      assert.match((await run('uncordon')).stderr, /^error: name hosts\n/);
      assert.deepEqual(writes(), []);
    });
  });

  describe('coppice scrub', () => {
    it('waits for success, and tells what was removed', async () => {
      const clearing = { result: 'Cleared', at: ASKED, guestsRemoved: 2, workspacesRemoved: 0 };
      const { code, stdout } = await scrubAnswered({ outcome: 'Succeeded', clearing });
      assert.deepEqual([code, stdout], [0, 'host.coppice.dev/mac-1 scrubbed (2 guests removed)\n']);
    });

    it('refused or failed exits 1 with what stands in the way, and what the hook said', async () => {
      const refused = await scrubAnswered({ outcome: 'Refused', message: '1 VM is bound to it (red/a)' });
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /^error: mac-1: the scrub is refused: 1 VM is bound to it \(red\/a\)\n/);
      api.requests.length = 0;
      const clearing = { hook: { exitCode: 3, output: 'no space' } };
      const failed = await scrubAnswered({ outcome: 'Failed', message: 'the hook ended with 3', clearing });
      assert.equal(failed.code, 1);
      assert.match(failed.stderr, /the scrub failed: the hook ended with 3\nno space\n/);
    });

    it('says what it waits for when the time is up', async () => {
      const running = run('scrub', 'mac-1', '--timeout', '1s');
      const requestedAt = await askedFor();
      host(
        { scrub: { requestedAt } },
        { scrub: { requestedAt, outcome: 'Waiting', message: 'waits for its nodelet' } },
      );
      const { code, stderr } = await running;
      assert.equal(code, 1);
      assert.match(stderr, /^error: mac-1 is not scrubbed yet: waits for its nodelet\n/);
    });

    it('asks by a later instant than any before, and takes no other answer', async () => {
      host({ scrub: { requestedAt: '2099-01-01T00:00:00Z' } }, { scrub: { requestedAt: '2099-05-01T00:00:00Z' } });
      assert.equal((await run('scrub', 'mac-1', '--no-wait')).stdout, 'host.coppice.dev/mac-1 scrub requested\n');
      assert.deepEqual(writes(), [
        'PATCH hosts/mac-1 {"spec":{"scrub":{"requestedAt":"2099-05-01T00:00:01Z","force":null}}}',
      ]);
    });

    it('forced, needs -y where nobody can be asked', async () => {
      const { code, stderr } = await run('scrub', 'mac-1', '--force');
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^error: this deletes every VM on mac-1, every guest that has none, and every volume, with what is on them\n.*-y/,
      );
      assert.deepEqual(writes(), []);
      await run('scrub', 'mac-1', '--force', '-y', '--no-wait');
      assert.match(writes()[0] ?? '', /"force":true/);
    });

    it('tells that the host went, or another asked, meanwhile', async () => {
      const gone = run('scrub', 'mac-1');
      await askedFor();
      api.remove('hosts', 'mac-1');
      assert.match((await gone).stderr, /^error: host mac-1 was deleted meanwhile/);
      host();
      api.requests.length = 0;
      const other = run('scrub', 'mac-1');
      await askedFor();
      host({ scrub: { requestedAt: '2099-01-01T00:00:00Z' } });
      assert.match((await other).stderr, /^error: another scrub of mac-1 was asked for meanwhile/);
    });
  });

  describe('coppice host remove-orphan', () => {
    const orphans = [
      { id: 'g-1', label: 'red/a', power: 'Running' },
      { id: 'g-2', label: 'red/b', power: 'Off' },
    ];

    it('names the guest on the Host, drops names of old, and waits until it is gone', async () => {
      host({ removeOrphans: ['g-0', 'g-2'] }, { orphans });
      const running = run('host', 'remove-orphan', 'mac-1', 'g-1', '-y');
      await until('it is named', () => writes().length === 1);
      await until('it is waited for', () => api.requests.some(({ url }) => url.includes('watch=true')));
      assert.deepEqual(writes(), ['PATCH hosts/mac-1 {"spec":{"removeOrphans":["g-2","g-1"]}}']);
      host({}, { orphans: [] });
      assert.deepEqual((await running).stdout, 'guest g-1 removed\n');
    });

    it('refuses what is no orphan, and needs -y', async () => {
      host({}, { orphans });
      const unknown = await run('host', 'remove-orphan', 'mac-1', 'g-9', '-y');
      assert.match(unknown.stderr, /^error: host mac-1 has no orphan g-9\n.*its orphans are g-1, g-2/);
      const unasked = await run('host', 'remove-orphan', 'mac-1', 'g-1');
      assert.match(unasked.stderr, /^error: this removes g-1 \(red\/a\) on mac-1, with their disks\n/);
      assert.match((await run('host', 'remove-orphan', 'mac-1')).stderr, /^error: name a host and guests of it/);
      assert.deepEqual(writes(), []);
    });
  });

  describe('coppice host forget', () => {
    const condition = (type: string, status: string, reason: string) => ({ type, status, reason, message: 'said' });
    const ready = (status: string) => ({ conditions: [condition('Ready', status, 'r')] });
    const vm = (reason: string) =>
      api.put('vms', {
        metadata: { name: 'a', namespace: 'red' },
        spec: { hostName: 'mac-1' },
        status: { conditions: [condition('Ready', 'False', reason)] },
      });

    it('is refused while the nodelet is heard', async () => {
      host({}, ready('True'));
      const { code, stderr } = await run('host', 'forget', 'mac-1', '-y');
      assert.equal(code, 1);
      assert.match(stderr, /^error: host mac-1 is heard: said\n.*--force/);
      assert.deepEqual(writes(), []);
    });

    it('deletes the very host, and waits until its VMs are lost', async () => {
      host({}, ready('Unknown'));
      vm('HostUnreachable');
      const running = run('host', 'forget', 'mac-1', '-y');
      await until('it is gone', () => api.get('hosts', 'mac-1') === undefined);
      await until('its VM is waited for', () => api.requests.some(({ url }) => url.includes('watch=true')));
      vm('HostLost');
      const { code, stdout } = await running;
      assert.equal(code, 0);
      assert.equal(stdout, 'host.coppice.dev/mac-1 forgotten\nvm.coppice.dev/a in red is lost with it\n');
      assert.match(writes().join(), /^DELETE hosts\/mac-1 .*"preconditions":\{"uid":"uid-/);
    });

    it('says so on the Host first where it is leased or waits for a scrub, which keep it else', async () => {
      host({}, { conditions: [condition('Ready', 'Unknown', 'r'), condition('ScrubPending', 'True', 'r')] });
      await run('host', 'forget', 'mac-1', '-y', '--no-wait');
      assert.deepEqual(writes()[0], 'PATCH hosts/mac-1 {"spec":{"forget":true}}');
      assert.match(writes()[1] ?? '', /^DELETE hosts\/mac-1/);
    });

    it('forced, says so on the Host first; and asks with what is lost', async () => {
      host({}, { ...ready('True'), lease: { namespace: 'red' } });
      vm('Running');
      for (const [name, phase] of [
        ['data', 'Attached'],
        ['old', 'Lost'],
      ] as const)
        api.put('volumes', { metadata: { name, namespace: 'red' }, spec: { hostName: 'mac-1' }, status: { phase } });
      const unasked = await run('host', 'forget', 'mac-1', '--force');
      assert.match(
        unasked.stderr,
        /^error: this gives host mac-1 up, and loses its VMs red\/a and its volumes red\/data, and the lease of red ends with its minimum\n/,
      );
      assert.deepEqual(writes(), []);
      await run('host', 'forget', 'mac-1', '--force', '-y', '--no-wait');
      assert.deepEqual(writes()[0], 'PATCH hosts/mac-1 {"spec":{"forget":true}}');
      assert.match(writes()[1] ?? '', /^DELETE hosts\/mac-1/);
    });
  });
});
