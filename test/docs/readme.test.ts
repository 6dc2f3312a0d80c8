import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AUTHORIZATION } from '../../apiserver/auth/authorization-table.ts';
import { WATCHED } from '../../resources/invariants/watched.ts';
import { BUILT_IN_KINDS } from '../../resources/kinds.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const namesIn = (folder: string, ext: string) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(ext))
    .map((name) => name.slice(0, -ext.length));

describe('what the README and its tables leave out', () => {
  const readme = read('README.md');

  it('is no page', () => {
    const missing = namesIn('docs', '.md').filter((page) => !readme.includes(`](docs/${page}.md)`));
    assert.deepEqual(missing, []);
  });

  it('is no command', () => {
    const table = readme.slice(readme.indexOf('## The CLI'), readme.indexOf('## Where state lives'));
    const single = namesIn('cli/commands', '.ts').filter((name) => name !== 'volumes');
    const topics = readdirSync(join(ROOT, 'cli/commands'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    const missing = [...single, ...topics.map(({ name }) => name)].filter(
      (name) => !table.includes(`\`${name}\``) && !table.includes(`\`${name} `),
    );
    assert.deepEqual(missing, []);
  });

  it('is no kind that an owner may make, in the table of what owners may', () => {
    const row = read('docs/tenants.md')
      .split('\n')
      .find((line) => line.startsWith('| in its namespace '));
    const made = BUILT_IN_KINDS.filter(({ plural }) =>
      AUTHORIZATION[`coppice.dev/${plural}`]?.create?.includes('owner'),
    );
    assert.ok(made.length > 3);
    assert.deepEqual(
      made.map(({ kind }) => kind).filter((kind) => row?.includes(`${kind}s`) !== true),
      [],
    );
  });

  it('is no kind that a check reads', () => {
    const words: Readonly<Record<string, string>> = { Policy: 'the policy', LeaseSet: 'lease sets', VM: 'VMs' };
    const wordOf = (kind: string) => words[kind] ?? `${kind.toLowerCase()}s`;
    const check = read('docs/check.md').split('\n\n')[1] ?? '';
    assert.deepEqual(
      WATCHED.map(({ kind }) => wordOf(kind)).filter((word) => !check.includes(word)),
      [],
    );
  });
});
