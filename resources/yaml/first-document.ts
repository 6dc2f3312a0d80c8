/** Where a line begins that starts or ends a document; within a value no line may begin so. */
const MARK = /(?<![^\n\r])(?:---|\.\.\.)(?=[ \t\n\r]|$)/g;
/** A line on which nothing of a document stands. */
const EMPTY_LINE = /^\s*(?:#.*)?$/;

/** The first document of a YAML text, with all that stands before it: what comes after need not be read to know it. */
export function firstDocument(text: string): string {
  let from = 0;
  let begun = false;
  for (const { 0: mark, index } of text.matchAll(MARK)) {
    if (begun || hasContent(text.slice(from, index))) return text.slice(0, index);
    // Ends of nothing are passed over.
    begun = mark === '---';
    from = index + mark.length;
  }
  return text;
}

const hasContent = (part: string): boolean =>
  part.split(/[\n\r]/).some((line) => !EMPTY_LINE.test(line) && !line.startsWith('%'));
