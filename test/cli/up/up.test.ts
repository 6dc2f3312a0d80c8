import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Authority } from '../../../apiserver/pki/authority.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { CliFolder } from '../../harness/run-cli.ts';
import { UpProcess } from './up-process.ts';

const SIM = ['--driver', 'sim', '--hosts', '2', '--port', '0'];
const DAY_MS = 24 * 3600 * 1000;

describe('coppice up with simulated hosts', () => {
  let folder: CliFolder;
  let home: string;
  const started: UpProcess[] = [];
  beforeEach(async () => {
    folder = await CliFolder.make();
    home = join(folder.path, 'home');
  });
  afterEach(async () => {
    for (const up of started.splice(0)) await up[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  const start = (args: readonly string[] = SIM, env: Readonly<Record<string, string>> = {}) => {
    const up = new UpProcess(home, args, env);
    started.push(up);
    return up;
  };
  const begin = async (args?: readonly string[]) => {
    const up = start(args);
    await up.says(/Ctrl-C stops/);
    return up;
  };
  const cli = async (...argv: string[]) => {
    const end = argv.indexOf('--');
    const at = end < 0 ? argv.length : end;
    const run = await folder.run([...argv.slice(0, at), '--kubeconfig', join(home, 'kubeconfig'), ...argv.slice(at)]);
    assert.equal(run.code, 0, `${argv.join(' ')}: ${run.stderr}`);
    return run.stdout;
  };
  const hello = async () => JSON.parse(await cli('get', 'vm', 'hello', '-n', 'demo', '-o', 'json'));
  const stopped = async (up: UpProcess) => {
    assert.deepEqual(await up.end('SIGINT'), { code: 0, signal: null });
    assert.match(up.stdout, /\nstopped; guests keep running\n$/);
    assert.equal(up.stderr, '');
  };

  /** Puts a leaf of 70 days ago, of the same authority, in the place of the server's. */
  async function agedLeaf(): Promise<string> {
    const file = (name: string) => join(home, 'pki', name);
    const ca = { cert: readFileSync(file('ca.crt'), 'utf8'), key: readFileSync(file('ca.key'), 'utf8') };
    const authority = await Authority.load(ca, new ManualClock(Date.now() - 70 * DAY_MS), systemIds);
    const old = await authority.issue({ use: 'server', names: ['localhost', '127.0.0.1', '::1', hostname()] });
    writeFileSync(file('apiserver.crt'), old.cert);
    writeFileSync(file('apiserver.key'), old.key);
    return old.cert;
  }

  it('starts, runs the quickstart, stops, and finds its guests again', async () => {
    const first = await begin();
    assert.match(first.stdout, /^✓ API server on https:\/\/127\.0\.0\.1:\d+, state in .*\/home {2}\(\d+\.\d s\)$/m);
    assert.match(first.stdout, /^✓ 2 simulated hosts, mac-1 to mac-2 {2}\(/m);
    assert.match(first.stdout, /^ {2}guests are simulated, as asked \(--driver sim\)$/m);
    assert.match(first.stdout, /^✓ applied manifests\/quickstart /m);
    assert.match(first.stdout, /^✓ VM demo\/hello is Ready {2}\(/m);
    assert.ok(!first.stdout.includes('\r') && !first.stdout.includes('\u001b'));
    const kubeconfig = join(home, 'kubeconfig');
    assert.equal(statSync(kubeconfig).mode & 0o777, 0o600);
    const [, url = '?'] = /on (https:\S+),/.exec(first.stdout) ?? [];
    assert.ok(readFileSync(kubeconfig, 'utf8').includes(`server: ${url}\n`), url);
    for (const kept of ['state.db', 'up.pid', 'log/coppice.log'])
      assert.equal(statSync(join(home, kept)).mode & 0o777, 0o600, kept);

    const before = await hello();
    assert.match(before.spec.hostName, /^mac-[12]$/);
    assert.match(await cli('exec', '-n', 'demo', 'hello', '--', 'echo', 'hi'), /hi/);
    assert.match(await cli('logs', '-n', 'demo', 'hello'), /\S/);
    const guests = join(home, 'hosts', 'sim-guests.json');
    const guest = () => JSON.stringify(JSON.parse(readFileSync(guests, 'utf8')).hosts[before.spec.hostName]);
    await stopped(first);
    const kept = guest();

    const second = await begin();
    assert.doesNotMatch(second.stdout, /applied/);
    assert.match(second.stdout, /^✓ VM demo\/hello is Ready/m);
    const after = await hello();
    assert.equal(after.status.startedAt, before.status.startedAt);
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.equal(guest(), kept);

    await cli('delete', 'vm', 'hello', '-n', 'demo', '-y');
    await cli('delete', 'tenant', 'demo', '-y');
    // A power cut: nothing is put in order.
    assert.deepEqual(await second.end('SIGKILL'), { code: null, signal: 'SIGKILL' });
    assert.equal(JSON.parse(readFileSync(join(home, 'up.pid'), 'utf8')).pid, second.pid);

    const third = await begin();
    assert.equal(JSON.parse(readFileSync(join(home, 'up.pid'), 'utf8')).pid, third.pid);
    assert.doesNotMatch(third.stdout, /applied|demo\/hello is/);
    assert.equal(JSON.parse(await cli('get', 'tenants', '-o', 'json')).items.length, 0);
    await stopped(third);
    assert.throws(() => statSync(join(home, 'up.pid')), { code: 'ENOENT' });
  });

  it('is one for each home, has a port of its own, and renews its certificate in time', async () => {
    const up = await begin([...SIM, '--no-quickstart']);
    assert.doesNotMatch(up.stdout, /quickstart|demo/);
    assert.equal(JSON.parse(await cli('get', 'tenants', '-o', 'json')).items.length, 0);

    const [, port = ''] = /127\.0\.0\.1:(\d+)/.exec(up.stdout) ?? [];
    assert.deepEqual(await folder.run(['up', '--home', home, ...SIM], { signal: AbortSignal.timeout(15_000) }), {
      code: 1,
      stdout: '',
      stderr: `error: coppice is already running on this home as pid ${up.pid}\nhint: stop it with "kill -INT ${up.pid}", or choose another --home\n`,
    });
    const other = join(folder.path, 'other');
    const refused = await folder.run(['up', '--home', other, '--driver', 'sim'], {
      env: { COPPICE_PORT: port },
      signal: AbortSignal.timeout(15_000),
    });
    assert.equal(refused.code, 1);
    assert.equal(
      refused.stderr,
      `error: port ${port} on 127.0.0.1 is taken\nhint: stop what listens there, or choose another with --port (0 takes any free one)\n`,
    );
    await stopped(up);

    const old = await agedLeaf();
    // Free again now: the environment chooses it.
    const third = start(['--driver', 'sim', '--hosts', '1', '--no-quickstart'], { COPPICE_PORT: port });
    await third.says(new RegExp(`API server on https://127\\.0\\.0\\.1:${port},`));
    await third.says(/Ctrl-C stops/);
    assert.notEqual(readFileSync(join(home, 'pki', 'apiserver.crt'), 'utf8'), old);
    await cli('get', 'tenants');
    await stopped(third);
  });

  it('stops on Ctrl-C whatever it is at', async () => {
    for (const moment of [/^✓ API server/m, /^✓ applied/m]) {
      // The start of a guest takes longer than anybody waits.
      const faults = await folder.write('faults.json', '{"faults": [{"fault": "SlowOperation", "takes": "1h"}]}');
      const up = start([...SIM, '--faults', faults]);
      const [said] = await up.says(moment);
      await stopped(up);
      assert.doesNotMatch(up.stdout, /up in/, said);
      const [, port = ''] = /127\.0\.0\.1:(\d+)/.exec(up.stdout) ?? [];
      await assert.rejects(connected(Number(port)), { code: 'ECONNREFUSED' });
      assert.throws(() => statSync(join(home, 'up.pid')), { code: 'ENOENT' });
      assert.throws(() => process.kill(-up.pid, 0), { code: 'ESRCH' });
    }
  });

  it('ends with exit code 70 when its store is lost', async function () {
    if (spawnSync('prlimit', ['--version']).status !== 0) {
      process.stderr.write('skipped: without prlimit the store cannot be broken from outside\n');
      this.skip();
    }
    const up = await begin([...SIM, '--no-quickstart']);
    // From now on every write into a file fails.
    assert.equal(spawnSync('prlimit', ['--pid', String(up.pid), '--fsize=0']).status, 0);
    const tenant = await folder.write('t.yaml', 'apiVersion: coppice.dev/v1\nkind: Tenant\nmetadata: {name: blue}\n');
    await folder.run(['apply', '--kubeconfig', join(home, 'kubeconfig'), '-f', tenant]);
    assert.deepEqual(await up.ended, { code: 70, signal: null });
    assert.match(up.stderr, /^error: the store is lost: disk I\/O error$/m);
    assert.throws(() => statSync(join(home, 'up.pid')), { code: 'ENOENT' });
  });
});

function connected(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}
