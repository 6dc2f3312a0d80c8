import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CliFolder } from '../../harness/run-cli.ts';

describe('what coppice up refuses', () => {
  let cli: CliFolder;
  let home: string;
  beforeEach(async () => {
    cli = await CliFolder.make();
    home = join(cli.path, 'home');
    mkdirSync(home, { mode: 0o700 });
  });
  afterEach(() => cli[Symbol.asyncDispose]());

  /** Everything it says on stderr; it must end by itself with exit code 1. */
  async function refused(...args: string[]): Promise<string> {
    const argv = ['up', '--home', home, '--driver', 'sim', '--hosts', '2', '--port', '0', ...args];
    const run = await cli.run(argv, { signal: AbortSignal.timeout(15_000) });
    assert.equal(run.code, 1, run.stdout + run.stderr);
    return run.stderr;
  }

  const stores: [string, (path: string) => void, RegExp][] = [
    ['damaged', (path) => writeFileSync(path, 'x'.repeat(20_000)), /^error: \S+ is not a Coppice store; .*\n$/],
    ['empty', (path) => writeFileSync(path, ''), /^error: \S+ is empty, not a store; .*\n$/],
    [
      'foreign',
      (path) => {
        using database = { db: new DatabaseSync(path), [Symbol.dispose]: () => database.db.close() };
        database.db.exec('CREATE TABLE songs (title TEXT)');
      },
      /^error: \S+ is another program's SQLite database; .*\n$/,
    ],
  ];
  for (const [what, make, words] of stores) {
    it(`a ${what} state.db, which stays as it was`, async () => {
      const path = join(home, 'state.db');
      make(path);
      const before = readFileSync(path);
      assert.match(await refused(), words);
      assert.ok(readFileSync(path).equals(before));
      assert.deepEqual(
        readdirSync(home).filter((name) => name.startsWith('state.db')),
        ['state.db'],
      );
    });
  }

  it('simulated guests it cannot read', async () => {
    mkdirSync(join(home, 'hosts'));
    writeFileSync(join(home, 'hosts', 'sim-guests.json'), '{');
    assert.match(await refused(), /^error: \S+sim-guests\.json is not JSON; move it away [^\n]*\n$/);
  });

  it('faults that are none, before anything is made', async () => {
    const file = await cli.write('faults.yaml', 'faults:\n- fault: Explosion\n');
    assert.match(
      await refused('--faults', file),
      /^error: --faults: \S+faults\.yaml, line 2: faults\[0\]\.fault: there is no fault "Explosion"; there are SlowOperation, .*\nhint: /,
    );
    await cli.write('faults.yaml', 'faults:\n- fault: LeakedSlot\n  hosts:\n  - mac-1\n  - mac-9\n');
    assert.match(
      await refused('--faults', file),
      /, line 5: faults\[0\]\.hosts\[1\]: "mac-9" is no host here; there are mac-1 to mac-2\n/,
    );
    assert.match(await refused('--faults', 'none.yaml'), /^error: --faults: none\.yaml: there is no such file\n/);
    assert.deepEqual(readdirSync(home), []);
  });

  it('a disk that is full', async function () {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', home], { encoding: 'utf8' });
    if (mounted.status !== 0) {
      process.stderr.write(`skipped: a small disk cannot be mounted here: ${mounted.stderr || mounted.error}\n`);
      this.skip();
    }
    try {
      const fill = (bytes: number) => writeFileSync(join(home, 'fill'), Buffer.alloc(bytes));
      assert.throws(() => fill(1 << 20), { code: 'ENOSPC' });
      assert.equal(
        await refused(),
        `error: the disk that holds ${home} is full\nhint: make room there, or choose another folder with --home\n`,
      );
      // Room for the little that comes before the store.
      fill(40 << 10);
      assert.match(await refused(), /^error: no space left to open \S+state\.db; [^\n]*\n$/);
    } finally {
      spawnSync('umount', [home]);
    }
  });
});
