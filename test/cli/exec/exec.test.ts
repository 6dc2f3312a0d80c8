import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import type { WebSocket } from 'ws';
import { CHANNEL, encodeFrame, exitStatus } from '../../../resources/streams/channel-frames.ts';
import { FakeApi, TOKEN } from '../../harness/fake-api.ts';
import { CliFolder } from '../../harness/run-cli.ts';

const aVM = (name: string, phase: string, spec: object = {}) => ({
  metadata: { name, namespace: 'demo' },
  spec,
  status: { phase },
});
const send = (socket: WebSocket, channel: number, text: string | object) =>
  socket.send(encodeFrame(channel, Buffer.from(typeof text === 'string' ? text : JSON.stringify(text))));
const exits = (code: number) => (socket: WebSocket) => {
  send(socket, CHANNEL.error, exitStatus(code));
  socket.close(1000);
};

/** Answers with what came on stdin, once it has ended. */
const cat = (socket: WebSocket) => {
  const pieces: Buffer[] = [];
  socket.on('message', (data) => {
    assert(Buffer.isBuffer(data));
    if (data[0] === CHANNEL.stdin) pieces.push(data.subarray(1));
    if (data[0] !== CHANNEL.close || data[1] !== CHANNEL.stdin) return;
    const all = Buffer.concat(pieces);
    for (let at = 0; at < all.length; at += 60_000)
      socket.send(encodeFrame(CHANNEL.stdout, all.subarray(at, at + 60_000)));
    exits(0)(socket);
  });
};

describe('coppice exec', () => {
  let api: FakeApi;
  let folder: CliFolder;
  before(async () => {
    api = await FakeApi.start();
    folder = await CliFolder.make(api);
    api.put('vms', aVM('hello', 'Running'));
  });
  after(async () => {
    await api[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  afterEach(() => {
    api.intercept = () => undefined;
  });

  it('sends each word of the command as it is, with its own credentials', async () => {
    api.onExec = exits(0);
    const { code } = await folder.run(['exec', 'vm/hello', '--', 'sh', '-c', 'echo "a b" & c=ü']);
    assert.equal(code, 0);
    const asked = api.requests.findLast((request) => request.url.includes('/exec'));
    const url = new URL(asked?.url ?? '', 'https://x');
    assert.equal(url.pathname, '/apis/coppice.dev/v1/namespaces/demo/vms/hello/exec');
    assert.deepEqual(url.searchParams.getAll('command'), ['sh', '-c', 'echo "a b" & c=ü']);
    assert.equal(url.searchParams.has('stdin'), false);
    assert.equal(url.searchParams.has('tty'), false);
    assert.equal(asked?.headers.authorization, `Bearer ${TOKEN}`);
  });

  it('keeps stdout and stderr apart and exits with the code of the command', async () => {
    api.onExec = (socket) => {
      send(socket, CHANNEL.stdout, 'out');
      send(socket, CHANNEL.stderr, 'err');
      exits(7)(socket);
    };
    assert.deepEqual(await folder.run(['exec', 'hello', '--', 'x']), { code: 7, stdout: 'out', stderr: 'err' });
  });

  for (const code of [1, 124, 125, 126, 127, 255]) {
    it(`passes exit code ${code} on without a word of its own`, async () => {
      api.onExec = exits(code);
      assert.deepEqual(await folder.run(['exec', 'hello', '--', 'x']), { code, stdout: '', stderr: '' });
    });
  }

  it('carries stdin whole, and its end', async () => {
    api.onExec = cat;
    const text = Array.from({ length: 40_000 }, (_, i) => `line ${i}\n`).join('');
    const { code, stdout } = await folder.run(['exec', '-i', 'hello', '--', 'cat'], { stdin: text });
    assert.equal(code, 0);
    assert(stdout === text, 'what came back is not what went in');
  });

  it('ends with the command although stdin goes on', async () => {
    api.onExec = exits(0);
    assert.equal((await folder.run(['exec', '-i', 'hello', '--', 'true'], { stdin: new PassThrough() })).code, 0);
  });

  it('sends no stdin without -i', async () => {
    let heard = 0;
    api.onExec = (socket) => {
      socket.on('message', () => heard++);
      exits(0)(socket);
    };
    await folder.run(['exec', 'hello', '--', 'true'], { stdin: 'ignored' });
    assert.equal(heard, 0);
  });

  it('exits 255 when the stream breaks', async () => {
    api.onExec = (socket) => {
      socket.send(encodeFrame(CHANNEL.stdout, Buffer.from('half')), () => socket.terminate());
    };
    const { code, stdout, stderr } = await folder.run(['exec', 'hello', '--', 'x']);
    assert.equal(code, 255);
    assert.equal(stdout, 'half');
    assert.match(stderr, /^error: the stream ended before the command did/);
  });

  it('exits 255 when the stream closes without a result', async () => {
    api.onExec = (socket) => socket.close(1000);
    assert.equal((await folder.run(['exec', 'hello', '--', 'x'])).code, 255);
  });

  it("exits 125 with the host's reason when the command could not be run", async () => {
    api.onExec = (socket) => socket.close(4500, 'no room for another stream');
    assert.deepEqual(await folder.run(['exec', 'hello', '--', 'x']), {
      code: 125,
      stdout: '',
      stderr: 'error: no room for another stream\n',
    });
  });

  it('exits 125 with the words of the server when it refuses', async () => {
    api.intercept = ({ url }) =>
      url.includes('/exec')
        ? {
            status: 403,
            body: {
              kind: 'Status',
              status: 'Failure',
              reason: 'Forbidden',
              message: 'vms "hello" is forbidden: no',
              code: 403,
            },
          }
        : undefined;
    const { code, stderr } = await folder.run(['exec', 'hello', '--', 'x']);
    assert.equal(code, 125);
    assert.equal(stderr, 'error: vms "hello" is forbidden: no\n');
  });

  it('exits 125 for a VM that is not there', async () => {
    const { code, stderr } = await folder.run(['exec', 'nobody', '--', 'x']);
    assert.equal(code, 125);
    assert.match(stderr, /vms\.coppice\.dev "nobody" not found/);
  });

  it('exits 125 at once for a VM that is to be stopped', async () => {
    api.put('vms', aVM('off', 'Stopped', { power: 'Stopped' }));
    const { code, stderr } = await folder.run(['exec', 'off', '--', 'x']);
    assert.equal(code, 125);
    assert.match(stderr, /is to be Stopped/);
  });

  it('waits for a VM that is about to run', async () => {
    api.put('vms', aVM('slow', 'Creating'));
    api.onExec = exits(3);
    const watched = new Promise<void>((resolve) => {
      api.intercept = ({ url }) => {
        if (url.includes('watch=true')) resolve();
        return undefined;
      };
    });
    const running = folder.run(['exec', 'slow', '--', 'x']);
    await watched;
    api.put('vms', aVM('slow', 'Running'));
    assert.equal((await running).code, 3);
  });

  it('tries again while the agent in the guest is not up yet', async () => {
    let tries = 0;
    api.onExec = (socket) => (++tries < 3 ? socket.close(4503, 'the agent does not answer yet') : exits(0)(socket));
    assert.equal((await folder.run(['exec', 'hello', '--', 'x'])).code, 0);
    assert.equal(tries, 3);
  });

  it('exits 124 when its time is up', async () => {
    api.onExec = () => {};
    const { code, stderr } = await folder.run(['exec', '--timeout', '1s', 'hello', '--', 'sleep', '9']);
    assert.equal(code, 124);
    assert.match(stderr, /did not end within 1s/);
  });

  it('exits 130 on Ctrl-C', async () => {
    const stop = new AbortController();
    api.onExec = () => stop.abort(new DOMException('interrupted', 'AbortError'));
    assert.equal((await folder.run(['exec', 'hello', '--', 'x'], { signal: stop.signal })).code, 130);
  });

  it('tells a command with a terminal its size', async () => {
    const frames: string[] = [];
    api.onExec = (socket) =>
      socket.on('message', (data) => {
        frames.push(data.toString());
        exits(0)(socket);
      });
    const { code } = await folder.run(['exec', '-it', 'hello', '--', 'sh'], { tty: true, stdin: new PassThrough() });
    assert.equal(code, 0);
    assert.equal(frames[0], '\u0004{"Width":80,"Height":24}');
  });

  for (const argv of [
    ['hello'],
    ['hello', 'ls'],
    ['hello', '--'],
    ['--', 'ls'],
    ['a', 'b', '--', 'ls'],
    ['-t', 'hello', '--', 'sh'],
  ]) {
    it(`refuses ${argv.join(' ')}`, async () => {
      const { code, stderr } = await folder.run(['exec', ...argv]);
      assert.equal(code, 1);
      assert.match(stderr, /^error: .*\nhint: /);
    });
  }
});
