import assert from 'node:assert/strict';
import { readObjects } from '../../../cli/yaml/documents.ts';

const read = (text: string | Uint8Array) => readObjects('f.yaml', typeof text === 'string' ? Buffer.from(text) : text);
const names = (text: string) => read(text).map(({ object }) => object.metadata.name);
const vm = (name: string) => `apiVersion: coppice.dev/v1\nkind: VM\nmetadata:\n  name: ${name}\n`;

describe('a file of objects', () => {
  const good: [string, string, string[]][] = [
    ['one document', vm('a'), ['a']],
    ['several', `${vm('a')}---\n${vm('b')}`, ['a', 'b']],
    ['a leading marker', `---\n${vm('a')}`, ['a']],
    ['a trailing marker', `${vm('a')}---\n`, ['a']],
    ['empty documents among several', `---\n---\n${vm('a')}---\n\n# nothing\n---\n${vm('b')}---\n---\n`, ['a', 'b']],
    ['a byte order mark', `\ufeff${vm('a')}`, ['a']],
    ['a byte order mark where files were joined', `${vm('a')}---\n\ufeff${vm('b')}`, ['a', 'b']],
    ['Windows line ends', `${vm('a')}---\n${vm('b')}`.replaceAll('\n', '\r\n'), ['a', 'b']],
    ['a document end', `${vm('a')}...\n---\n${vm('b')}`, ['a', 'b']],
    ['a version directive', `%YAML 1.2\n---\n${vm('a')}`, ['a']],
    ['a comment after the marker', `--- # first\n${vm('a')}`, ['a']],
    ['JSON', JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'j' } }), ['j']],
    [
      'a List',
      `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n`,
      ['a', 'b'],
    ],
    ['nothing at all', '', []],
    ['only a comment', '# nothing\n', []],
    ['a dashed line inside a text', `${vm('a')}data: |\n  --- not a marker\n`, ['a']],
  ];
  for (const [what, text, expected] of good) it(`may have ${what}`, () => assert.deepEqual(names(text), expected));

  it('is read as kubectl reads it', () => {
    const [one] = read(`${vm('a')}spec: {a: yes, b: n, c: 2020-01-01, d: "on", e: 010, f: 12:30, 1: true}\n`);
    assert.deepEqual(one?.object.spec, { a: true, b: false, c: '2020-01-01', d: 'on', e: 8, f: '12:30', 1: true });
  });

  it('may merge, and say otherwise beside it', () => {
    const [one] = read(`${vm('a')}spec:\n- &x {a: 1, b: 2}\n- <<: *x\n  b: 3\n- b: 4\n  <<: [*x, {c: 5, a: 6}]\n`);
    assert.deepEqual(one?.object.spec, [
      { a: 1, b: 2 },
      { a: 1, b: 3 },
      { a: 1, b: 2, c: 5 },
    ]);
  });

  it('says of each object where it stands', () => {
    const places = read(`# a comment\n${vm('a')}---\n\n# another\n${vm('b')}`).map(({ source }) => source);
    assert.deepEqual(places, [
      { file: 'f.yaml', document: 1, line: 2 },
      { file: 'f.yaml', document: 2, line: 9 },
    ]);
  });

  const bad: [string, string | Uint8Array, RegExp][] = [
    ['a tab as indentation', `${vm('a')}---\nkind: VM\nmetadata:\n\tname: b\n`, /^f\.yaml, document 2, line 8: .*tab/],
    ['a key twice', `${vm('a')}kind: Host\n`, /^f\.yaml, document 1, line 5: .*duplicated mapping key/],
    ['an unclosed bracket', `${vm('a')}spec: [1, 2\n`, /^f\.yaml, document 1, line \d+: is not valid YAML/],
    ['a tag that lies', `${vm('a')}spec: !!int x\n`, /^f\.yaml, document 1, line 5: .*cannot decode !!str/],
    ['a merge of no object', `${vm('a')}spec: {<<: x}\n`, /^f\.yaml, document 1, line 5: .*map merge requires map/],
    ['a list for an object', `${vm('a')}---\n- 1\n`, /^f\.yaml, document 2, line 6: holds a list where an object/],
    ['a text for an object', 'hello\n', /^f\.yaml, document 1, line 1: holds the string "hello"/],
    ['no kind', 'apiVersion: v1\nmetadata: {name: a}\n', /^f\.yaml, document 1, line 1: kind is missing/],
    ['no apiVersion', 'kind: VM\nmetadata: {name: a}\n', /^f\.yaml, document 1, line 1: apiVersion is missing/],
    ['no metadata', 'apiVersion: v1\nkind: VM\n', /^f\.yaml, document 1, line 1: metadata of the VM is missing/],
    ['no name', 'apiVersion: v1\nkind: VM\nmetadata: {labels: {}}\n', /metadata\.name of the VM is missing/],
    [
      'a number for a name',
      'apiVersion: v1\nkind: VM\nmetadata: {name: 12}\n',
      /must be text, not the number 12; quote it/,
    ],
    ['no number', `${vm('a')}spec: {x: {y: .nan}}\n`, /document 1, line 5: .*\.nan is not a number JSON can carry/],
    ['an integer that would be rounded', `${vm('a')}spec: {x: 9007199254740993}\n`, /spec\.x: an integer beyond/],
    ['one of 64 bits', `${vm('a')}spec: {x: 0xffffffffffffffff}\n`, /spec\.x: an integer beyond/],
    ['a field named __proto__', `${vm('a')}spec: {__proto__: {a: 1}}\n`, /__proto__ is not a name/],
    ['bytes that are not UTF-8', Uint8Array.of(0x61, 0xff, 0xfe), /^f\.yaml: is not UTF-8/],
    ['more than 3 MiB', new Uint8Array((3 << 20) + 1).fill(35), /^f\.yaml: 3145729 bytes, but at most 3145728/],
    ['too deep a nesting', `${vm('a')}spec: ${'['.repeat(200)}${']'.repeat(200)}\n`, /^f\.yaml, document 1, line 5: /],
    [
      'a hundred aliases',
      `${vm('a')}x: &x 1\ny: [${'*x, '.repeat(101)}*x]\n`,
      /^f\.yaml, document 1, line \d+: .*alias/,
    ],
    ['an alias of itself', 'a: &a [*a]', /line 1: .*anchor 'a' value contains itself/],
    ['a bomb of few aliases', bomb(), /its aliases stand for more than may be sent/],
  ];
  for (const [what, text, message] of bad) {
    it(`may not have ${what}, and the error says where`, () => {
      assert.throws(
        () => read(text),
        (error: Error) => {
          assert.match(error.message, message);
          return error.name === 'Failure';
        },
      );
    });
  }
});

/** Nine levels of nine: a few hundred bytes that stand for 387 million values. */
function bomb(): string {
  const levels = ['l0: &l0 [x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 9; i++)
    levels.push(`l${i}: &l${i} [${Array.from({ length: 9 }, () => `*l${i - 1}`).join(', ')}]`);
  return `${vm('a')}${levels.join('\n')}\n`;
}
