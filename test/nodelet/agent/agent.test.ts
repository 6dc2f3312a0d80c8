import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentConnection } from '../../../nodelet/agent/agent-connection.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { AgentProcess, compiledAgent, isAlive, text, until } from './agent-process.ts';

describe('the guest agent', function () {
  this.timeout(30_000);
  let agent: AgentProcess;
  let connection: AgentConnection;
  let dir: string;
  const never = new AbortController().signal;

  before(async function () {
    this.timeout(60_000);
    const program = await compiledAgent();
    if (program === undefined) this.skip();
    agent = await AgentProcess.start(program);
    dir = await mkdtemp(join(tmpdir(), 'cpt-'));
  });
  after(async () => {
    await agent?.[Symbol.asyncDispose]();
    if (dir !== undefined) await rm(dir, { recursive: true });
  });
  beforeEach(async () => {
    connection = await agent.connect();
  });
  afterEach(async () => {
    await connection[Symbol.asyncDispose]();
    assert.ok(agent.running, 'the agent lives on');
  });

  const shell = (script: string, stdin = false, signal = never) =>
    connection.exec({ command: ['sh', '-c', script], stdin }, signal);

  it('says who it is, answers pings and tells about the machine', async () => {
    assert.match(connection.hello.agentVersion, /^\d+\.\d+\.\d+$/);
    assert.match(connection.hello.bootId, /^[0-9a-f-]{36}$/);
    await connection.ping(never);
    const info = await connection.info(never);
    assert.notEqual(info.hostname, '');
    assert.ok(info.uptimeMs > 0);
  });

  it('keeps stdout and stderr apart and passes arguments and variables unchanged', async () => {
    const command = ['sh', '-c', 'printf %s "$1|$V"; echo bad >&2; pwd >&2', 'x', ' a\n"ü '];
    const run = await connection.exec({ command, stdin: false, env: { V: 'v=1 ' }, cwd: '/tmp' }, never);
    const [out, err, exit] = await Promise.all([text(run.stdout), text(run.stderr), run.exit]);
    assert.equal(out, ' a\n"ü |v=1 ');
    assert.equal(err, 'bad\n/tmp\n');
    assert.deepEqual(exit, { code: 0 });
  });

  it('echoes a mebibyte of stdin byte for byte, the marker within included', async () => {
    const run = await connection.exec({ command: ['cat'], stdin: true }, never);
    const marker = Buffer.from('\xffCOPPICE-AGENT\xfe\xfd', 'latin1');
    const sent = Buffer.alloc(1 << 20);
    for (let i = 0; i < sent.length; i++) sent[i] = (i * 7 + (i >> 8)) & 0xff;
    for (const at of [0, 32_760, 500_000, sent.length - 16]) marker.copy(sent, at);
    const pieces: Uint8Array[] = [];
    const reading = (async () => {
      for await (const piece of run.stdout) pieces.push(piece);
    })();
    await run.write(sent);
    await run.closeStdin();
    await reading;
    assert.ok(Buffer.concat(pieces).equals(sent));
    assert.deepEqual(await run.exit, { code: 0 });
  });

  it('tells exit codes and signals', async () => {
    assert.deepEqual(await (await shell('exit 7')).exit, { code: 7 });
    assert.deepEqual(await (await shell('kill -TERM $$')).exit, { code: 143, signal: 15 });
  });

  it('starts commands with no signal ignored, whatever started the agent ignored', async () => {
    const run = await shell('grep SigIgn /proc/self/status');
    assert.match(await text(run.stdout), /^SigIgn:\t0+$/m);
  });

  it('exits 127 and 126 with a sentence for what cannot be run', async () => {
    const missing = await connection.exec({ command: ['no-such-program'], stdin: false }, never);
    assert.match(await text(missing.stderr), /no-such-program: command not found/);
    assert.deepEqual(await missing.exit, { code: 127 });
    const plain = join(dir, 'plain');
    await writeFile(plain, 'text');
    await chmod(plain, 0o644);
    const refused = await connection.exec({ command: [plain], stdin: false }, never);
    assert.match(await text(refused.stderr), /plain: Permission denied/);
    assert.deepEqual(await refused.exit, { code: 126 });
  });

  it('gives a command without stdin an empty one', async () => {
    const run = await connection.exec({ command: ['cat'], stdin: false }, never);
    assert.equal(await text(run.stdout), '');
    assert.deepEqual(await run.exit, { code: 0 });
    await assert.rejects(run.write(Buffer.from('x')), /stdin is closed/);
  });

  it('refuses what cannot be a command', async () => {
    await assert.rejects(connection.exec({ command: [], stdin: false }, never), /empty/);
    await assert.rejects(connection.exec({ command: ['a\0b'], stdin: false }, never), /zero byte/);
    await assert.rejects(connection.exec({ command: ['echo', 'x'.repeat(70_000)], stdin: false }, never), /65536/);
    await assert.rejects(connection.exec({ command: ['true'], stdin: false, env: { 'A=B': '' } }, never), /variable/);
  });

  it('runs a command on a terminal, of the size asked for and resized', async () => {
    const run = await connection.exec(
      {
        command: ['sh', '-c', 'stty size; read line; stty size; exit 3'],
        stdin: true,
        tty: { rows: 33, columns: 101 },
      },
      never,
    );
    let seen = '';
    for await (const piece of run.stdout) {
      seen += Buffer.from(piece).toString();
      if (seen.includes('33 101') && !seen.includes('go')) {
        run.resize(44, 55);
        await run.write(Buffer.from('go\n'));
        seen += 'go';
      }
    }
    assert.match(seen, /33 101[\s\S]*44 55/);
    assert.deepEqual(await run.exit, { code: 3 });
  });

  it('ends a terminal’s input at closeStdin', async () => {
    const run = await connection.exec({ command: ['cat'], stdin: true, tty: { rows: 24, columns: 80 } }, never);
    await run.write(Buffer.from('word\n'));
    await run.closeStdin();
    assert.match(await text(run.stdout), /word/);
    assert.deepEqual(await run.exit, { code: 0 });
  });

  it('does not hang up on a command that closes its terminal before it ends', async () => {
    const script = 'exec 0<&- 1>&- 2>&-; sleep 0.2; exit 5';
    const run = await connection.exec(
      { command: ['sh', '-c', script], stdin: false, tty: { rows: 24, columns: 80 } },
      never,
    );
    assert.deepEqual(await run.exit, { code: 5 });
  });

  it('kills the whole session when the signal ends, jobs of a shell included', async () => {
    const stop = new AbortController();
    // On a terminal a shell with job control gives each job a process group of its own.
    const script = 'set -m; sleep 1000 & echo "<$!>"; sleep 1000 & echo "<$!>"; wait';
    const tty = { rows: 24, columns: 80 };
    const run = await connection.exec({ command: ['sh', '-c', script], stdin: false, tty }, stop.signal);
    const pids: number[] = [];
    let seen = '';
    for await (const piece of run.stdout) {
      seen += Buffer.from(piece).toString();
      pids.splice(0, pids.length, ...[...seen.matchAll(/<(\d+)>/g)].map((match) => Number(match[1])));
      if (pids.length < 2) continue;
      assert.ok(pids.every(isAlive));
      stop.abort();
    }
    assert.deepEqual(await run.exit, { code: 137, signal: 9 });
    await until(() => !pids.some(isAlive));
  });

  it('rejects with the signal’s reason when it has ended already', async () => {
    await assert.rejects(shell('true', false, AbortSignal.abort(new Error('too late'))), /too late/);
  });

  it('does not let a slow reader hold up another command', async () => {
    const flood = await shell('head -c 3000000 /dev/zero');
    const other = await shell('echo quick');
    assert.equal(await text(other.stdout), 'quick\n');
    await connection.ping(never);
    let bytes = 0;
    for await (const piece of flood.stdout) bytes += piece.length;
    assert.equal(bytes, 3_000_000);
    assert.deepEqual(await flood.exit, { code: 0 });
  });

  it('drops the output a reader has left', async () => {
    const flood = await shell('head -c 3000000 /dev/zero; exit 5');
    for await (const _ of flood.stdout) break;
    assert.deepEqual(await flood.exit, { code: 5 });
  });

  it('does not let a command that never reads hold up anything but its own stdin', async () => {
    const deaf = await shell('sleep 1000', true);
    let written = false;
    const writing = deaf.write(Buffer.alloc(2 << 20)).then(
      () => {
        written = true;
      },
      (error: unknown) => error,
    );
    for (let i = 0; i < 20; i++) assert.equal(await text((await shell(`echo ${i}`)).stdout), `${i}\n`);
    assert.equal(written, false);
    await connection[Symbol.asyncDispose]();
    assert.match(String(await writing), /the command has ended/);
  });

  it('swallows what is written to a command that closed its stdin', async () => {
    const run = await shell('exec 0<&-; read x < /proc/self/fd/0; sleep 0.1; exit 4', true);
    await run.write(Buffer.alloc(2 << 20)).catch((error: unknown) => assert.match(String(error), /has ended/));
    assert.deepEqual(await run.exit, { code: 4 });
  });

  it('does not wait for what a command leaves running, and sends all the command wrote', async () => {
    const run = await shell('head -c 300000 /dev/zero; sleep 1000 & echo "-$!"; echo $$ >&2');
    let leader = 0;
    for await (const piece of run.stderr) {
      leader = Number(Buffer.from(piece).toString());
      break;
    }
    // The window is used up, so the last of the output is still with the agent when the command ends.
    await until(() => !isAlive(leader));
    const [zeros, pid] = (await text(run.stdout)).split('-');
    assert.deepEqual(await run.exit, { code: 0 });
    assert.equal(zeros?.length, 300_000);
    assert.ok(isAlive(Number(pid)), 'it goes on');
    process.kill(Number(pid), 'SIGKILL');
  });

  it('takes 64 commands at a time, refuses the next and goes on', async () => {
    const runs = await Promise.all(
      Array.from({ length: 64 }, () => connection.exec({ command: ['cat'], stdin: true }, never)),
    );
    await assert.rejects(shell('true'), { reason: 'AgentUnavailable', message: /64 commands/ });
    await Promise.all(runs.map((run) => run.closeStdin()));
    for (const run of runs) assert.deepEqual(await run.exit, { code: 0 });
    assert.deepEqual(await (await shell('true')).exit, { code: 0 });
  });

  it('hangs up on the commands of a host that has gone, and kills those that stay', async () => {
    const run = await shell('trap "" HUP; sleep 1000 & echo $$ $!; wait; sleep 1000');
    let pids: number[] = [];
    for await (const piece of run.stdout) {
      pids = Buffer.from(piece).toString().trim().split(' ').map(Number);
      break;
    }
    assert.equal(pids.length, 2);
    await connection[Symbol.asyncDispose]();
    await assert.rejects(run.exit, { reason: 'StreamBroken' });
    connection = await agent.connect();
    assert.deepEqual(await (await shell('true')).exit, { code: 0 });
    await until(() => !pids.some(isAlive));
  });

  it('has no power over the machine when it serves a socket', async () => {
    await assert.rejects(connection.shutdown(never), { reason: 'Unsupported' });
    await assert.rejects(connection.setTime(1e12, never), { reason: 'Unsupported' });
    await assert.rejects(connection.setIdentity({ hostname: 'other' }, never), { reason: 'Unsupported' });
  });

  it('lets a waiting host in when the first has left', async () => {
    const second = agent.connect();
    await connection.ping(never);
    await connection[Symbol.asyncDispose]();
    connection = await second;
    await connection.ping(never);
  });

  it('sleeps while nothing can move: a blocked reader, a deaf command, a closed stdin', async () => {
    const flood = await shell('cat /dev/zero');
    const deaf = await shell('sleep 1000', true);
    const writing = deaf.write(Buffer.alloc(1 << 20)).catch(() => {});
    await shell('exec 1>&- 2>&-; exec sleep 1000');
    await shell('sleep 1000', true);
    // A loop that spins uses some of every interval, however busy the machine is.
    await until(async () => {
      const before = await agent.cpuMs();
      await systemClock.sleep(300);
      return (await agent.cpuMs()) === before;
    });
    assert.ok(flood);
    await connection[Symbol.asyncDispose]();
    await writing;
  });
});
