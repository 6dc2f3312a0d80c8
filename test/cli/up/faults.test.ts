import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import { findCondition } from '../../../resources/meta/condition.ts';
import { CliFolder } from '../../harness/run-cli.ts';
import { until } from '../../harness/until.ts';
import { UpProcess } from './up-process.ts';

const DEADLINE_MS = 120_000;

describe('coppice up with faults', function () {
  this.timeout(300_000);
  let folder: CliFolder;
  let home: string;
  let up: UpProcess | undefined;
  before(async () => {
    folder = await CliFolder.make();
    home = join(folder.path, 'home');
  });
  afterEach(() => up?.[Symbol.asyncDispose]());
  after(() => folder[Symbol.asyncDispose]());

  const start = async (faults: string) => {
    const file = await folder.write('faults.yaml', faults);
    up = new UpProcess(home, ['--driver', 'sim', '--hosts', '2', '--port', '0', '--faults', file]);
    return up;
  };
  const cli = async (...argv: string[]) => {
    const run = await folder.run([...argv, '--kubeconfig', join(home, 'kubeconfig')]);
    assert.equal(run.code, 0, `${argv.join(' ')}: ${run.stderr}`);
    return run.stdout;
  };
  const hello = async (): Promise<VM> => JSON.parse(await cli('get', 'vm', 'hello', '-n', 'demo', '-o', 'json'));
  const faultsTold = () =>
    readFileSync(join(home, 'log', 'coppice.log'), 'utf8')
      .split('\n')
      .filter((line) => / info fault( over)? /.test(line))
      .map((line) => line.replace(/^\S+ info /, ''));
  const power = async (wish: string) => {
    const spec = { image: 'tiny-linux', size: { vcpus: 1, memory: '128Mi' }, power: wish };
    const vm = { apiVersion: 'coppice.dev/v1', kind: 'VM', metadata: { name: 'hello', namespace: 'demo' }, spec };
    await cli('apply', '-f', await folder.write('vm.json', JSON.stringify(vm)));
  };

  it('shows why a start fails on the VM, which comes up once it is let', async () => {
    const first = await start('seed: 5\nfaults:\n- {fault: FailedOperation, vms: [demo/hello], times: 3}\n');
    await first.says(/^ {2}guests are simulated, .*; faults of \S*faults\.yaml, seed 5$/m, DEADLINE_MS);
    await first.says(/^✓ applied manifests\/quickstart/m, DEADLINE_MS);
    let failed: VM | undefined;
    await until(
      'a start failed',
      async () => {
        failed = await hello();
        return findCondition(failed, 'Ready')?.reason === 'StartFailed';
      },
      DEADLINE_MS,
    );
    assert.equal(failed?.status?.phase, 'Creating');
    assert.match(
      findCondition(failed as VM, 'Ready')?.message ?? '',
      /^the simulated hypervisor was told to fail this start; tried /,
    );
    await first.says(/Ctrl-C stops/, DEADLINE_MS);
    const vm = await hello();
    assert.equal(findCondition(vm, 'Ready')?.status, 'True');
    const line = `fault host=${vm.spec.hostName} fault=FailedOperation operation=Start vm=demo/hello`;
    assert.deepEqual(faultsTold(), [line, line, line]);
    assert.deepEqual(await first.end('SIGINT'), { code: 0, signal: null });
  });

  it('heals a partition: the VM is not failed, its guest is the same, and what was asked meanwhile is done', async () => {
    const told = faultsTold().length;
    const second = await start('faults:\n- {fault: Partition, after: 5s, for: 15s}\n');
    await second.says(/Ctrl-C stops/, DEADLINE_MS);
    const before = await hello();
    await until('hosts are cut off', () => faultsTold().length === told + 2, DEADLINE_MS);
    await power('Paused');
    let acted = 0;
    while (faultsTold().length < told + 4) {
      const { status } = await hello();
      // What was read before the end was so before the end.
      if (faultsTold().length > told + 2) break;
      assert.equal(status?.phase, 'Running');
      acted += 1;
      await systemClock.sleep(100);
    }
    assert.ok(acted > 0, 'the partition was over before anything was asked');
    await until('it is paused', async () => (await hello()).status?.phase === 'Paused', DEADLINE_MS);
    await power('Running');
    await until('it is ready', async () => findCondition(await hello(), 'Ready')?.status === 'True', DEADLINE_MS);
    const after = await hello();
    assert.equal(after.status?.startedAt, before.status?.startedAt);
    assert.deepEqual(after.status?.guest, before.status?.guest);
    assert.deepEqual(
      faultsTold().slice(told).sort(),
      ['mac-1', 'mac-2']
        .flatMap((host) => [
          `fault host=${host} fault=Partition lastsMs=15000`,
          `fault over host=${host} fault=Partition`,
        ])
        .sort(),
    );
    assert.deepEqual(await second.end('SIGINT'), { code: 0, signal: null });
    assert.equal(second.stderr, '');
  });
});
