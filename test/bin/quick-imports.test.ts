import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const QUICKLY = `import { importQuickly } from '${ROOT}bin/quick-imports.js'; importQuickly();`;
const evaluate = async (code: string) => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', `${QUICKLY}${code}`]);
  return JSON.parse(stdout);
};

describe('quick imports', () => {
  it('find a file of ours once, by whatever way it is named', async () => {
    const code = `
      const { loaded } = await import('${ROOT}test/bin/loads-names.ts');
      const { objectKey } = await import('file://${ROOT}resources/meta/object.ts');
      console.log(JSON.stringify(loaded === objectKey));`;
    assert.equal(await evaluate(code), true);
  });

  it('say of what is not there that it is not', async () => {
    const code = `
      const { absent } = await import('${ROOT}test/bin/loads-names.ts');
      console.log(JSON.stringify(await absent().then(() => 'there', ({ code }) => code)));`;
    assert.match(await evaluate(code), /ENOENT|ERR_MODULE_NOT_FOUND/);
  });

  it('leave files of others to be found as ever', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coppice-imports-'));
    try {
      await writeFile(join(folder, 'main.cjs'), "module.exports = require('./part.js')");
      await writeFile(join(folder, 'part.js'), "module.exports = { plain: typeof require === 'function' }");
      const code = `console.log(JSON.stringify((await import('${folder}/main.cjs')).default))`;
      assert.deepEqual(await evaluate(code), { plain: true });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
