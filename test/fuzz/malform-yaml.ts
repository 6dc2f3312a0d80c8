import { dump } from 'js-yaml';
import { oddText } from './odd-values.ts';
import type { Random } from './random.ts';

const PIECES: readonly string[] = [
  '\t',
  '- ',
  ': ',
  '? ',
  '! ',
  '!!binary aGk=\n',
  '!!set {a, b}\n',
  '!!js/function "function(){}"\n',
  '!<tag:yaml.org,2002:int> x\n',
  '&a ',
  '*a',
  '*nobody\n',
  '<<: *a\n',
  '<<: {a: 1}\n',
  '---\n',
  '...\n',
  '%YAML 9.9\n',
  '%TAG ! tag:x,2000:\n',
  '|\n  text\n',
  '>-9\n',
  '"\\x"',
  '"\\ud800"',
  '{a: 1, a: 2}',
  '[[[[[[[[',
  '{{{{{{{{',
  '? [a, b]\n: 1\n',
  '__proto__: {polluted: true}\n',
  'y: on\n',
  '0o17',
  '.inf',
  '-.NaN',
  '12345678901234567890',
  '1e400',
  '2001-12-14t21:59:43.10-05:00',
  '# x\n',
  '\u0085',
  '\0',
];

/** YAML of a value with what only YAML has put into it. */
export function yamlText(random: Random, value: unknown): string {
  const text = random.oneIn(8) ? bomb(random) : dumped(value);
  const lines = text.split('\n');
  for (let i = random.below(4); i > 0; i--) {
    const at = random.below(lines.length);
    const line = lines[at] ?? '';
    lines[at] = random.one(
      () => random.pick(PIECES) + line,
      () => line + random.pick(PIECES),
      () => line.replace(/^( *)/, (_, spaces: string) => spaces + random.pick([' ', '\t', '   '])),
      () => line.replace(': ', `: ${random.pick(PIECES)}`),
      () => line.slice(random.below(line.length + 1)),
      () => `${line}\n${line}`,
      () => oddText(random),
    );
  }
  return lines.join('\n');
}

/** What the value is in YAML; what has no YAML stands as JSON, which is YAML too. */
function dumped(value: unknown): string {
  try {
    return dump(value);
  } catch {
    return JSON.stringify(value) ?? 'null';
  }
}

/** Aliases of aliases: short to send, long written out. */
function bomb(random: Random): string {
  const width = random.pick([2, 9, 60]);
  const levels = random.pick([3, 9, 12]);
  const lines = ['a0: &a0 [x, x]'];
  for (let i = 1; i <= levels; i++)
    lines.push(
      `a${i}: &a${i} [${Array(width)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  return lines.join('\n');
}
