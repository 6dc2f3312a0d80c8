import { RE2JS } from 're2js';

/** A compiled pattern whose matching takes time in proportion to the text: Kubernetes' own syntax, without look-around and back-references. */
export interface SafePattern {
  /** Whether the pattern is found anywhere in the text. */
  test(text: string): boolean;
  /** The first match, or undefined. */
  find(text: string): string | undefined;
  /** Every match, left to right. */
  findAll(text: string): string[];
  /** The pattern itself: ajv tells patterns apart by this. */
  toString(): string;
}

/** Throws with the reason when the pattern does not compile. */
export function compilePattern(pattern: string): SafePattern {
  const compiled = RE2JS.compile(pattern);
  return {
    toString: () => pattern,
    test: (text) => compiled.matcher(text).find(),
    find: (text) => {
      const matcher = compiled.matcher(text);
      return matcher.find() ? (matcher.group() ?? undefined) : undefined;
    },
    findAll: (text) => {
      const matcher = compiled.matcher(text);
      const found: string[] = [];
      while (matcher.find()) found.push(matcher.group() ?? '');
      return found;
    },
  };
}
