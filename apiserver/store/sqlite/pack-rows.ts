import type { LogRow } from '../engine.ts';
import type { PackedRows } from './protocol.ts';

export function packRows(rows: readonly LogRow[]): PackedRows {
  const bytes = new Uint8Array(rows.reduce((sum, row) => sum + (row.value?.byteLength ?? 0), 0));
  let offset = 0;
  for (const { value } of rows) {
    if (value === undefined) continue;
    bytes.set(value, offset);
    offset += value.byteLength;
  }
  return {
    revisions: rows.map((row) => row.revision),
    keys: rows.map((row) => row.key),
    createRevisions: rows.map((row) => row.createRevision),
    lengths: rows.map((row) => row.value?.byteLength ?? -1),
    values: bytes.buffer,
  };
}

export function unpackRows(packed: PackedRows): LogRow[] {
  let offset = 0;
  return packed.keys.map((key, i) => {
    const length = packed.lengths[i] ?? -1;
    const value = length < 0 ? undefined : new Uint8Array(packed.values, offset, length);
    offset += Math.max(0, length);
    return {
      revision: packed.revisions[i] ?? 0,
      key,
      createRevision: packed.createRevisions[i] ?? 0,
      value,
    };
  });
}
