import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RenewedTransport, type Way } from '../../../../cli/serve/controllers/renewed-transport.ts';
import { silentLogger } from '../../../../resources/ambient/log.ts';
import { ManualClock } from '../../../../resources/ambient/manual-clock.ts';

const GET = { method: 'GET', path: '/' };

describe('the transport by a credential that is renewed', () => {
  let folder: string;
  let file: string;
  let clock: ManualClock;
  /** What each way was opened with, and whether it was closed. */
  let ways: { readonly server: string; closed: boolean }[];
  /** Servers that do not know the credential. */
  let unknown: Set<string>;
  let unreadable = false;
  let reads: number;
  let sent: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-renewed-'));
    file = join(folder, 'kubeconfig');
    [clock, ways, unknown, unreadable, reads, sent] = [new ManualClock(), [], new Set(), false, 0, []];
    write('first');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (text: string) => writeFileSync(file, text);
  const open = () =>
    RenewedTransport.open({
      clock,
      log: silentLogger,
      async read() {
        if (unreadable) throw new Error('half of a file');
        return { connection: { server: `https://${++reads}` }, files: [file] };
      },
      open({ server }): Way {
        const way = { server, closed: false };
        ways.push(way);
        return {
          async send({ method }) {
            sent.push(`${method} ${server}`);
            const status = unknown.has(server) ? 401 : 200;
            return { status, headers: {}, body: (async function* () {})() };
          },
          async [Symbol.asyncDispose]() {
            way.closed = true;
          },
        };
      },
    });

  it('reads the files again when they changed, and lets what is under way end', async () => {
    await using transport = await open();
    await transport.send(GET);
    write('second, longer');
    await transport.send(GET);
    assert.deepEqual(sent, ['GET https://1', 'GET https://1']);
    await clock.advance(5_000);
    await transport.send(GET);
    assert.equal(sent.at(-1), 'GET https://2');
    assert.deepEqual(
      ways.map(({ closed }) => closed),
      [false, false],
    );
    await clock.advance(30_000);
    assert.deepEqual(
      ways.map(({ closed }) => closed),
      [true, false],
    );
    await transport.send(GET);
    assert.equal(reads, 2);
  });

  it('sends once more what was refused for its credential, if there is a newer one', async () => {
    await using transport = await open();
    unknown.add('https://1');
    assert.equal((await transport.send({ method: 'POST', path: '/' })).status, 200);
    assert.deepEqual(sent, ['POST https://1', 'POST https://2']);
    unknown.add('https://2').add('https://3');
    for (let n = 0; n < 10; n++) assert.equal((await transport.send(GET)).status, 401);
    assert.equal(reads, 2);
    await clock.advance(5_000);
    await transport.send(GET);
    assert.equal(reads, 3);
  });

  it('goes on with what it had when the files cannot be read', async () => {
    await using transport = await open();
    unreadable = true;
    write('half');
    await clock.advance(5_000);
    assert.equal((await transport.send(GET)).status, 200);
    unreadable = false;
    await clock.advance(5_000);
    await transport.send(GET);
    assert.equal(sent.at(-1), 'GET https://2');
  });

  it('breaks off what is open when it is told to', async () => {
    await using transport = await open();
    transport.reopen();
    await transport.send(GET);
    assert.deepEqual(
      ways.map(({ closed }) => closed),
      [true, false],
    );
  });

  it('is closed whole', async () => {
    const transport = await open();
    write('second, longer');
    await clock.advance(5_000);
    await transport.send(GET);
    await transport[Symbol.asyncDispose]();
    assert.ok(ways.length === 2 && ways.every(({ closed }) => closed));
  });
});
