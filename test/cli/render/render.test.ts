import assert from 'node:assert/strict';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { renderDescription } from '../../../cli/render/describe.ts';
import { renderJson } from '../../../cli/render/json.ts';
import { cellsOf, headersOf, tableOf } from '../../../cli/render/server-table.ts';
import { alignColumns, lineOf, oneLine, renderTable } from '../../../cli/render/table.ts';
import { renderYaml } from '../../../cli/render/yaml.ts';
import { readYaml } from '../../../resources/yaml/read-yaml.ts';

describe('a table', () => {
  it('lines up columns three spaces apart and ends no line with a space', () => {
    const text = renderTable(
      ['Name', 'Phase'],
      [
        ['a', ''],
        ['long-name', 'Running'],
      ],
    );
    assert.equal(text, 'NAME        PHASE\na\nlong-name   Running\n');
  });

  it('keeps a cell with line breaks or terminal codes on its line', () => {
    assert.equal(oneLine('one\n  two\u001b[31m'), 'one two[31m');
    assert.equal(alignColumns([['a\nb', 'c']]), 'a b   c\n');
  });

  it('keeps later rows under columns as wide as they were', () => {
    assert.equal(lineOf(['a', 'b'], [6, 1]), 'a        b');
  });

  const answer = {
    kind: 'Table',
    metadata: { resourceVersion: '7', continue: 'more' },
    columnDefinitions: [
      { name: 'Name', priority: 0 },
      { name: 'Ready', priority: 0 },
      { name: 'Image', priority: 1 },
    ],
    rows: [{ cells: ['a', null, 3], object: { metadata: { name: 'a', namespace: 'demo' } } }],
  };

  it('shows the columns of the server that belong, and nothing where it has none', () => {
    const { columns, rows, continueToken } = tableOf(answer);
    const [row] = rows;
    assert(row !== undefined);
    const narrow = { wide: false, namespaces: false, prefix: 'vm.coppice.dev/' };
    assert.deepEqual(headersOf(columns, narrow), ['NAME', 'READY']);
    assert.deepEqual(cellsOf(columns, row, narrow), ['vm.coppice.dev/a', '']);
    const wide = { wide: true, namespaces: true, prefix: '' };
    assert.deepEqual(headersOf(columns, wide), ['NAMESPACE', 'NAME', 'READY', 'IMAGE']);
    assert.deepEqual(cellsOf(columns, row, wide), ['demo', 'a', '', '3']);
    assert.equal(continueToken, 'more');
  });
});

describe('YAML and JSON output', () => {
  const value = {
    b: { '10': 1, '9': 2, a: [{ z: 1, y: 'yes' }, []] },
    a: 'line\nbreak\n',
    n: null,
    u: undefined,
    t: '2026-01-01T00:00:00Z',
  };

  it('is sorted and indented as kubectl prints it', () => {
    assert.equal(
      renderJson(value),
      '{\n    "a": "line\\nbreak\\n",\n    "b": {\n        "10": 1,\n        "9": 2,\n        "a": [\n            {\n                "y": "yes",\n                "z": 1\n            },\n            []\n        ]\n    },\n    "n": null,\n    "t": "2026-01-01T00:00:00Z"\n}\n',
    );
    assert.equal(
      renderYaml({ b: [{ z: 1, k: 'yes' }], a: 'line\nbreak\n', t: '2026-01-01T00:00:00Z' }),
      'a: |\n  line\n  break\nb:\n- k: "yes"\n  z: 1\nt: "2026-01-01T00:00:00Z"\n',
    );
  });

  it('reads back as it was, whatever it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        const plain = JSON.parse(JSON.stringify({ any }));
        assert.deepEqual(JSON.parse(renderJson(plain)), plain);
        assert.deepEqual(load(renderYaml(plain)), plain);
      }),
    );
  });

  it('quotes text that kubectl would take for something else', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123_+-.xXoObBeEyn~='), maxLength: 6 });
    fc.assert(
      fc.property(fc.oneof(digits, fc.constantFrom('0X1F', '0b-1', '0O17', '.1_5', '08', 'off')), (text) => {
        const [document] = readYaml(renderYaml({ [text]: text }));
        assert.deepEqual(document?.value, { [text]: text });
      }),
    );
  });
});

describe('a description', () => {
  const object = {
    apiVersion: 'coppice.dev/v1',
    kind: 'VM',
    metadata: {
      name: 'hello',
      namespace: 'demo',
      uid: 'u1',
      resourceVersion: '9',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { b: '2', a: '1' },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"long": "text"}' },
    },
    spec: { hostName: 'mac-1', guestID: 'g', size: { vcpus: 2 }, volumes: ['v1', { name: 'v2' }] },
    status: {
      phase: 'Running',
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'AgentAnswers',
          message: 'it answers',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  };
  const events = [
    {
      type: 'Warning',
      reason: 'Second',
      message: 'b',
      lastTimestamp: '2026-01-01T00:01:00Z',
      count: 3,
      reportingComponent: 'x',
    },
    {
      type: 'Normal',
      reason: 'First',
      message: 'a',
      lastTimestamp: '2026-01-01T00:00:30Z',
      source: { component: 'y' },
    },
  ];
  const text = renderDescription(object, events, Date.parse('2026-01-01T00:02:00Z'));

  it('names fields in words, with a value a line', () => {
    assert.match(text, /^Name: +hello\nNamespace: +demo\nLabels: +a=1\n +b=2\nAnnotations: +<none>\n/);
    assert.match(text, /^ {2}Host Name: +mac-1$/m);
    assert.match(text, /^ {2}Guest ID: +g$/m);
    assert.match(text, /^ {2}Size:\n {4}Vcpus: +2$/m);
    assert.match(text, /^ {2}Volumes:\n {4}v1\n {4}Name: +v2$/m);
    assert.match(text, /^Status:\n {2}Phase: +Running$/m);
  });

  it('shows conditions as a table with their age, and events in their order', () => {
    assert.match(
      text,
      /^Conditions:\n {2}Type +Status +Reason +Age +Message\n {2}-.*\n {2}Ready +True +AgentAnswers +2m +it answers$/m,
    );
    assert.match(text, /Normal +First +90s +y +a\n {2}Warning +Second +60s \(x3\) +x +b\n$/);
  });
});
