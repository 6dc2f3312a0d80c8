import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePrivate } from '../../../apiserver/pki/write-private.ts';

describe('a private file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-private-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is its owner’s, and nothing is left beside it', () => {
    writePrivate(join(folder, 'key'), 'secret');
    assert.equal(readFileSync(join(folder, 'key'), 'utf8'), 'secret');
    assert.equal(statSync(join(folder, 'key')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ['key']);
  });

  it('that cannot be put in place leaves nothing of what was in it', () => {
    mkdirSync(join(folder, 'key', 'in-use'), { recursive: true });
    assert.throws(() => writePrivate(join(folder, 'key'), 'secret'));
    assert.deepEqual(readdirSync(folder), ['key']);
  });
});
