import { readYaml } from '../../../../resources/yaml/read-yaml.ts';
import { YamlError } from '../../../../resources/yaml/yaml-error.ts';
import { type YamlNode, yamlNodes } from '../../../../resources/yaml/yaml-nodes.ts';
import { type Fault, matches } from './fault.ts';
import { type FieldPath, pathText, problemsOf } from './fault-problems.ts';
import { FaultsError } from './faults-error.ts';

/** More than anybody writes by hand. */
const MAX_NODES = 100_000;

/** Faults as a file or a test has them: `seed`, and a list of `faults`. Checked. */
export class FaultsFile {
  /** How people know it: the name of the file. */
  readonly name: string;
  /** Undefined: any will do. */
  readonly seed: number | undefined;
  readonly faults: readonly Fault[];
  readonly #lineOf: (path: FieldPath) => number | undefined;

  private constructor(name: string, value: unknown, lineOf: (path: FieldPath) => number | undefined) {
    this.name = name;
    this.#lineOf = lineOf;
    const problems = problemsOf(value);
    if (problems.length > 0) throw this.#error(problems);
    const { seed, faults } = value as { readonly seed?: number; readonly faults: readonly Fault[] };
    this.seed = seed;
    this.faults = faults;
  }

  /** Reads YAML, or JSON. Throws a `FaultsError` that tells all that is wrong, a line each. */
  static read(name: string, text: string): FaultsFile {
    try {
      const [root, ...others] = yamlNodes(text, MAX_NODES);
      const [document] = readYaml(text, MAX_NODES);
      if (others.length > 0) throw new YamlError('it has more than one document', others[0]?.line);
      const repeated = document?.repeated.find(({ merged }) => !merged);
      if (repeated !== undefined) throw new YamlError(`the key "${repeated.key}" is there twice`, repeated.line);
      return new FaultsFile(name, document?.value ?? null, (path) => root && lineIn(root, path));
    } catch (error) {
      if (!(error instanceof YamlError)) throw error;
      const line = error.line === undefined ? '' : `, line ${error.line}`;
      throw new FaultsError(`${name}${line}: is not valid YAML: ${error.message}`, { cause: error });
    }
  }

  /** The same from a value. Throws as `read` does. */
  static of(value: { readonly seed?: number; readonly faults: readonly Fault[] }): FaultsFile {
    return new FaultsFile('faults', value, () => undefined);
  }

  /** Throws a `FaultsError` where a fault is for hosts that are none of these. */
  checkHosts(names: readonly string[]): void {
    const known = names.length === 1 ? `the only host is ${names[0]}` : `there are ${names[0]} to ${names.at(-1)}`;
    const problems = this.faults.flatMap(({ hosts = [] }, fault) =>
      [...hosts.entries()]
        .filter(([, pattern]) => !names.some((name) => matches(pattern, name)))
        .map(([at, pattern]) => ({
          path: ['faults', fault, 'hosts', at],
          words: `"${pattern}" is no host here; ${known}`,
        })),
    );
    if (problems.length > 0) throw this.#error(problems);
  }

  #error(problems: readonly { readonly path: FieldPath; readonly words: string }[]): FaultsError {
    const placed = problems.map((problem) => ({ ...problem, line: this.#lineOf(problem.path) }));
    const lines = placed
      .sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
      .map(({ path, words, line }) => {
        const field = path.length === 0 ? '' : `${pathText(path)}: `;
        return `${this.name}${line === undefined ? '' : `, line ${line}`}: ${field}${words}`;
      });
    return new FaultsError(lines.join('\n'));
  }
}

/** The line of what a path leads to, or of the last thing on the way that is there. */
function lineIn(root: YamlNode, path: FieldPath): number {
  let node = root;
  let line = root.line;
  for (const part of path) {
    while (node.kind === 'alias') node = node.target;
    if (node.kind === 'sequence' && typeof part === 'number') {
      const item = node.items[part];
      if (item === undefined) return line;
      node = item;
      line = item.line;
    } else if (node.kind === 'mapping') {
      const pair = node.pairs.findLast(([key]) => key.kind === 'scalar' && key.text === part);
      if (pair === undefined) return line;
      node = pair[1];
      line = pair[0].line;
    } else return line;
  }
  return line;
}
