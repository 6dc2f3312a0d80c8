import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Io } from '../../../cli/io.ts';
import { readSource } from '../../../cli/yaml/files.ts';

const MANIFEST = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';

describe('what -f names', () => {
  let folder: string;
  let pipe: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-files-'));
    pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('may be a pipe, of which all is read until whoever writes has done', async () => {
    const read = readSource(ioIn(folder), 'pipe', false);
    const writer = await open(pipe, 'w');
    await writer.write(MANIFEST);
    await writer.write(`---\n${MANIFEST}`);
    await writer.close();
    assert.equal((await read).length, 2);
  });

  it('may be a pipe into which nobody writes: then an abort ends the wait', async () => {
    const stop = new AbortController();
    const read = readSource(ioIn(folder, stop.signal), 'pipe', false);
    stop.abort();
    await assert.rejects(read, { name: 'AbortError' });
  });

  it('is no device and no file that is not there', async () => {
    await assert.rejects(readSource(ioIn(folder), '/dev/null', false), { message: '/dev/null: it is not a file' });
    await assert.rejects(readSource(ioIn(folder), 'nothing', false), { message: 'nothing: there is no such file' });
    const none = ': the folder has no file that ends in .yaml, .yml or .json';
    await assert.rejects(readSource(ioIn(folder), '.', true), { message: `.${none}` });
  });
});

function ioIn(cwd: string, signal = new AbortController().signal): Io {
  const stream = () => Object.assign(new PassThrough(), { isTTY: false });
  return { stdin: stream(), stdout: stream(), stderr: stream(), env: {}, cwd, userHome: cwd, signal };
}
