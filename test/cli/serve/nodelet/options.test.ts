import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readKept, writeKept } from '../../../../cli/serve/nodelet/kept-nodelet.ts';
import { type NodeletFlags, nodeletOptions, settled } from '../../../../cli/serve/nodelet/options.ts';
import { FaultsFile } from '../../../../nodelet/drivers/sim/faults/faults-file.ts';

const token = (host: string) => `${host}.${'a'.repeat(64)}.${'b'.repeat(64)}`;

describe('the flags of coppice nodelet', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coppice-nodelet-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const read = (flags: Partial<NodeletFlags>) =>
    nodeletOptions(
      {
        home: 'h',
        server: undefined,
        token: undefined,
        'token-file': undefined,
        driver: undefined,
        faults: undefined,
        ...flags,
      },
      folder,
    );

  it('take servers and tokens with commas, again, and from a file', async () => {
    await writeFile(join(folder, 'tokens'), `${token('c')}\n\n${token('d')}\n`);
    const options = read({
      server: ['https://a:1,https://b:2/', 'https://c:3'],
      token: [`${token('a')},${token('b')}`],
      'token-file': 'tokens',
    });
    assert.deepEqual(options.servers, ['https://a:1', 'https://b:2', 'https://c:3']);
    assert.deepEqual(
      options.tokens.map(({ host }) => host),
      ['a', 'b', 'c', 'd'],
    );
    assert.equal(options.home, join(folder, 'h'));
  });

  const wrong: [Partial<NodeletFlags>, RegExp][] = [
    [{ home: '' }, /--home is empty/],
    [{ driver: 'vmware' }, /no driver "vmware"/],
    [{ server: ['http://a:1'] }, /--server is "http:\/\/a:1"/],
    [{ server: ['https://a:1/path'] }, /--server/],
    [{ server: [''] }, /--server/],
    [{ token: ['s3cret'] }, /--token: number 1 is no token of a host$/],
    [{ token: [token('a'), token('a')] }, /two tokens for host a/],
    [{ 'token-file': '.' }, /--token-file: .* cannot be read \(EISDIR\)/],
  ];
  for (const [flags, message] of wrong)
    it(`refuse ${JSON.stringify(flags).slice(0, 60)}`, () => assert.throws(() => read(flags), message));

  it('are kept in the home, and a start without them goes on as before', () => {
    assert.equal(readKept(folder), undefined);
    assert.throws(() => settled(read({}), undefined), /knows no server/);
    const first = settled(read({ server: ['https://a:1'], driver: 'sim' }), undefined);
    writeKept(folder, first);
    assert.deepEqual(settled(read({}), readKept(folder)), { servers: ['https://a:1'], driver: 'sim' });
    const other = settled(read({ server: ['https://b:1'], driver: 'qemu' }), readKept(folder));
    assert.deepEqual(other, { servers: ['https://b:1'], driver: 'qemu' });
    assert.throws(() => settled(read({ faults: FaultsFile.of({ faults: [] }) }), other), /for simulated hosts/);
    assert.deepEqual(settled(read({ server: ['https://a:1'] }), undefined).driver, 'auto');
  });

  it('are not guessed from a file that was damaged', async () => {
    await writeFile(join(folder, 'nodelet.json'), '{"servers": "x"}');
    assert.throws(() => readKept(folder), /does not hold servers and a driver/);
  });
});
