import { DUMP_SCHEMA, defineScalarTag, dump, NOT_RESOLVED } from 'js-yaml';
import { resolveScalar } from '../../resources/yaml/yaml-scalar.ts';
import { sortKeys } from './sorted.ts';

/** Text that kubectl would take for something else, which is more than the library knows of: `0X1F` and `0b-1` are numbers to it. */
const NO_TEXT = defineScalarTag<string>('tag:coppice.dev,2026:no-text', {
  implicit: true,
  identify: () => false,
  resolve(text) {
    const { type } = resolveScalar({ kind: 'scalar', line: 1, text, tag: '', plain: true });
    return type === 'str' ? NOT_RESOLVED : text;
  },
});
const SCHEMA = DUMP_SCHEMA.withTags(NO_TEXT);

/** YAML as kubectl prints it: keys sorted, lists not indented, lines never folded. */
export function renderYaml(value: unknown): string {
  const schema = SCHEMA;
  return dump(sortKeys(value), { schema, lineWidth: -1, noRefs: true, seqNoIndent: true, quoteStyle: 'double' });
}
