import assert from 'node:assert/strict';
import { parseKeyReport } from '../../../resources/streams/key-report.ts';

describe('the report of the keys of a server', () => {
  it('says what was written, and nothing where something else was', () => {
    const report = { keys: { ca: ['a'] }, behind: 0, hostsBehind: [], lastOldToken: null };
    assert.deepEqual(parseKeyReport(JSON.stringify(report)), report);
    for (const text of [undefined, '', 'not json', 'null', '7', '"x"', '[]', '{"keys":"x"}', '{"keys":{"ca":"x"}}'])
      assert.deepEqual(parseKeyReport(text), {}, text);
  });
});
