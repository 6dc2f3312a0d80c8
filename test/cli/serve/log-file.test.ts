import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogFile, MAX_LOG_BYTES } from '../../../cli/serve/log-file.ts';

describe('the log of a home', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-log-'));
    path = join(folder, 'coppice.log');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const read = (file = path) => readFileSync(file, 'utf8');

  it('goes on where it was, for its owner only', () => {
    writeFileSync(path, 'before\n', { mode: 0o600 });
    using log = new LogFile(path);
    log.write('after');
    assert.equal(read(), 'before\nafter\n');
    rmSync(path);
    using _new = new LogFile(path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('keeps the file and the one before it, each within the bound', () => {
    using log = new LogFile(path, 100);
    for (let i = 100; i < 150; i++) log.write(`line ${i}`);
    assert.ok(statSync(path).size <= 100);
    assert.ok(statSync(`${path}.1`).size <= 100);
    const lines = (read(`${path}.1`) + read()).trim().split('\n');
    // Nothing is lost in between, and the last is the last.
    assert.deepEqual(
      lines,
      Array.from({ length: lines.length }, (_, i) => `line ${150 - lines.length + i}`),
    );
    assert.ok(lines.length > 11);
  });

  it('counts what was there before', () => {
    writeFileSync(path, 'x'.repeat(MAX_LOG_BYTES));
    using log = new LogFile(path);
    log.write('new');
    assert.equal(read(), 'new\n');
    assert.equal(statSync(`${path}.1`).size, MAX_LOG_BYTES);
  });

  it('cuts a line that would be a log of its own', () => {
    using log = new LogFile(path);
    log.write('é'.repeat(1 << 20));
    log.write('next');
    assert.ok(statSync(path).size < 70_000);
    assert.match(read(), /\nnext\n$/);
  });

  it('loses lines, and no more, while it cannot rotate; then goes on', () => {
    using log = new LogFile(path, 20);
    log.write('0123456789012345');
    mkdirSync(`${path}.1`);
    for (let i = 0; i < 3; i++) log.write('is lost');
    assert.equal(read(), '0123456789012345\n');
    rmSync(`${path}.1`, { recursive: true });
    log.write('is there');
    assert.equal(read(), 'is there\n');
  });

  it('begins again when somebody moved it away', () => {
    using log = new LogFile(path, 20);
    log.write('0123456789012345');
    rmSync(path);
    log.write('is there');
    assert.equal(read(), 'is there\n');
  });

  it('takes no notice of a disk that is full', () => {
    if (!existsSync('/dev/full')) {
      process.stderr.write('skipped: there is no /dev/full\n');
      return;
    }
    using log = new LogFile('/dev/full');
    log.write('is lost');
  });

  it('writes into no other file once it is closed', () => {
    const log = new LogFile(path);
    log[Symbol.dispose]();
    // Gets the number the log had.
    openSync(join(folder, 'other'), 'w');
    log.write('late');
    log[Symbol.dispose]();
    assert.equal(read(join(folder, 'other')), '');
  });
});
