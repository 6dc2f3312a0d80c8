/** A table as kubectl prints it: upper-case headers, columns three spaces apart, nothing after the last. */
export function renderTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  return alignColumns([headers.map((header) => header.toUpperCase()), ...rows]);
}

/** Rows with their columns lined up, each ended by a newline. */
export function alignColumns(rows: readonly (readonly string[])[], gap = 3): string {
  const widths = columnWidths(rows);
  return rows.map((row) => `${lineOf(row.map(oneLine), widths, gap)}\n`).join('');
}

/** Widths to align rows that come later, such as those of a watch. */
export function columnWidths(rows: readonly (readonly string[])[], least: readonly number[] = []): number[] {
  const widths = [...least];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, displayWidth(oneLine(cell)));
    });
  }
  return widths;
}

export function lineOf(row: readonly string[], widths: readonly number[], gap = 3): string {
  return row
    .map((cell, column) => {
      const width = (widths[column] ?? 0) + gap;
      return column === row.length - 1 ? cell : cell + ' '.repeat(Math.max(gap, width - displayWidth(cell)));
    })
    .join('')
    .trimEnd();
}

/** A cell from a stranger must neither break the table nor drive the terminal. */
export function oneLine(cell: string): string {
  return cell.replace(/\s*[\r\n]+\s*/g, ' ').replace(/[\p{Cc}]/gu, '');
}

function displayWidth(text: string): number {
  return [...text].length;
}
