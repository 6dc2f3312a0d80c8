import { firstDocument } from '../../resources/yaml/first-document.ts';
import { readYaml } from '../../resources/yaml/read-yaml.ts';
import { YamlError } from '../../resources/yaml/yaml-error.ts';
import { goSyntax } from '../admission/go-format.ts';

/** What a YAML body says, and what is to be said of fields it gives twice: one text for all of them, or none. */
interface ParsedYaml {
  readonly value: unknown;
  readonly duplicates: readonly string[];
}

/** Keys, values, lists and maps in one body. What the store takes has a tenth of it, unless it is made to keep the parser busy. */
export const MOST_NODES = 200_000;

/**
 * Parses a YAML body as a real server does (see readYaml): of several documents the first counts, none says null. Throws YamlError, whose
 * message begins with the line where there is one.
 */
export function parseYaml(text: string): ParsedYaml {
  try {
    const [document] = readYaml(firstDocument(text), MOST_NODES);
    if (document === undefined) return { value: null, duplicates: [] };
    const lines = document.repeated.map(
      ({ key, valueLine }) => `line ${valueLine}: key ${goSyntax(key)} already set in map`,
    );
    return { value: document.value, duplicates: lines.length === 0 ? [] : [YAML_ERRORS + lines.join('\n  ')] };
  } catch (error) {
    if (!(error instanceof YamlError) || error.line === undefined) throw error;
    throw new YamlError(`line ${error.line}: ${error.message}`, error.line, { cause: error });
  }
}

/** How a text that tells of several lines begins. */
export const YAML_ERRORS = 'yaml: unmarshal errors:\n  ';
