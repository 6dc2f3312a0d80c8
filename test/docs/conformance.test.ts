import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/conformance.md'), 'utf8');
/** Sections in which each row has a test. */
const HELD = ['Has to be there', 'Should be there'];

interface Row {
  readonly capability: string;
  readonly tests: readonly { readonly file: string; readonly title: string }[];
  /** How many tests the row seems to name, however it writes them. */
  readonly named: number;
}

/** The rows of the table under a heading. */
function rowsOf(heading: string): readonly Row[] {
  const section = PAGE.split('\n## ').find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((line) => {
    const [, capability = '', , tests = ''] = line.split('|').map((cell) => cell.trim());
    const found = [...tests.matchAll(/`(test\/[^`]+)`: “([^”]+)”/g)];
    return {
      capability,
      tests: found.map(([, file = '', title = '']) => ({ file, title })),
      named: tests === '' ? 0 : tests.split('<br>').length,
    };
  });
}

describe('the page of conformance', () => {
  const sections = [...HELD, 'Beyond that'];

  for (const heading of sections) {
    it(`“${heading}” names tests that exist`, () => {
      const rows = rowsOf(heading);
      assert.ok(rows.length > 0, 'the table is gone');
      const missing = rows.flatMap(({ capability, tests, named }) => [
        ...(named === tests.length ? [] : [`${capability}: a test is not named as \`file\`: “title”`]),
        ...tests.filter((test) => !exists(test)).map(({ file, title }) => `${capability}: ${file}: ${title}`),
      ]);
      assert.deepEqual(missing, []);
    });
  }

  for (const heading of HELD) {
    it(`“${heading}” has a test a row`, () => {
      const without = rowsOf(heading).filter(({ tests }) => tests.length === 0);
      assert.deepEqual(
        without.map(({ capability }) => capability),
        [],
      );
    });
  }
});

function exists({ file, title }: Row['tests'][number]): boolean {
  const path = join(ROOT, file);
  return existsSync(path) && readFileSync(path, 'utf8').includes(title);
}
