import { dump } from 'js-yaml';
import { sortKeys } from './sorted.ts';

/** YAML as kubectl prints it: keys sorted, lists not indented, lines never folded. */
export function renderYaml(value: unknown): string {
  return dump(sortKeys(value), { lineWidth: -1, noRefs: true, seqNoIndent: true, quoteStyle: 'double' });
}
