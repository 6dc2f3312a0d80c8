import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { connectAgent } from '../../../nodelet/agent/agent-connection.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { text, until } from '../agent/agent-process.ts';
import { canStartGuest, TinyGuest } from './tiny-guest.ts';
import { canBuildImage, tinyImage } from './tiny-image.ts';

describe('a guest of the tiny Linux image', function () {
  this.timeout(120_000);
  let imageDir: string;
  const never = new AbortController().signal;

  before(async function () {
    this.timeout(180_000);
    if (!canStartGuest() || !canBuildImage()) this.skip();
    imageDir = (await tinyImage()).dir;
  });

  const meet = (guest: TinyGuest) =>
    connectAgent({ socketPath: guest.agentSocket, clock: systemClock, ids: systemIds }, AbortSignal.timeout(60_000));

  it('boots, answers through its agent, does as it is told and powers off', async () => {
    await using guest = await TinyGuest.start(imageDir, 'boot-test');
    let connection = await meet(guest);
    const run = async (script: string) => {
      const command = await connection.exec({ command: ['sh', '-c', script], stdin: false }, never);
      const [out, err, exit] = await Promise.all([text(command.stdout), text(command.stderr), command.exit]);
      assert.deepEqual([err, exit], ['', { code: 0 }], script);
      return out.trim();
    };
    assert.match(connection.hello.bootId, /^[0-9a-f-]{36}$/);
    assert.match(await run('uname -sn'), /^Linux boot-test$/);
    assert.match(await run('cat /etc/machine-id'), /^[0-9a-f]{32}$/);
    assert.match(await run('readlink /dev/disk/by-id/virtio-vol-0123456789ab'), /vda$/);
    assert.doesNotMatch(await guest.console(), /did not load/);

    let info = await connection.info(never);
    await until(async () => {
      info = await connection.info(never);
      return info.addresses.includes('10.0.2.15');
    });
    assert.equal(info.hostname, 'boot-test');
    assert.equal(await run('wget -qO- http://10.0.2.2:1/ 2>/dev/null; echo $?'), '1', 'the network goes nowhere');

    const machineId = await run('cat /etc/machine-id');
    await connection.setIdentity({ hostname: 'another' }, never);
    assert.equal(await run('hostname; cat /etc/hostname'), 'another\nanother');
    assert.notEqual(await run('cat /etc/machine-id'), machineId);
    await assert.rejects(connection.setIdentity({ hostname: 'no/label' }, never), /label/);
    await connection.setTime(Date.UTC(2031, 1, 3), never);
    assert.match(await run('date -u +%Y-%m-%d'), /^2031-02-03$/);

    const tty = await connection.exec(
      { command: ['sh', '-c', 'tty; stty size'], stdin: true, tty: { rows: 30, columns: 99 } },
      never,
    );
    assert.match(await text(tty.stdout), /\/dev\/pts\/\d+\r\n30 99/);

    const echo = await connection.exec({ command: ['md5sum'], stdin: true }, never);
    await echo.write(Buffer.alloc(1 << 20));
    await echo.closeStdin();
    assert.match(await text(echo.stdout), /^b6d81b360a5672d80c27430f39153e2c /);

    // A session cut in the middle of a flood: the next host meets the agent all the same, and the flood is gone.
    const flood = await connection.exec({ command: ['sh', '-c', 'cat /dev/zero'], stdin: true }, never);
    for await (const _ of flood.stdout) break;
    await connection[Symbol.asyncDispose]();
    connection = await meet(guest);
    await until(async () => (await run('pidof cat || true')) === '');

    // A crashed agent comes back, and its host is told instead of left waiting.
    const orphan = await connection.exec({ command: ['sleep', '1000'], stdin: false }, never);
    const killer = await connection.exec(
      { command: ['sh', '-c', 'kill -KILL $(pidof coppice-agent)'], stdin: false },
      never,
    );
    await assert.rejects(Promise.all([orphan.exit, killer.exit]), { reason: 'StreamBroken' });
    await connection.closed;
    connection = await meet(guest);
    assert.equal(await run('pidof sleep >/dev/null; ps -o args | grep -c "[s]leep 1000" || true'), '0');

    await connection.shutdown(never);
    assert.equal(await guest.ended, 0);
    await connection.closed;
  });

  it('powers off at the press of its button', async () => {
    await using guest = await TinyGuest.start(imageDir, 'button-test');
    await using connection = await meet(guest);
    await until(async () => /button-test is up/.test(await guest.console()));
    const monitor = connect(guest.qmpSocket);
    monitor.on('error', () => {});
    monitor.write('{"execute":"qmp_capabilities"}\n{"execute":"system_powerdown"}\n');
    monitor.resume();
    assert.equal(await guest.ended, 0);
    await connection.closed;
  });
});
