import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { readYaml, type YamlDocument } from '../../resources/yaml/read-yaml.ts';
import { YamlError } from '../../resources/yaml/yaml-error.ts';
import { Failure } from '../failure.ts';

/** One object of a file, and where it stands. */
export interface SourceObject {
  readonly object: JsonObject & { apiVersion: string; kind: string; metadata: JsonObject };
  readonly source: Place;
}

/** `line` is where the document begins; both count from 1. */
interface Place {
  readonly file: string;
  readonly document: number;
  readonly line: number;
}

export const MAX_FILE_BYTES = 3 << 20;

/** The objects of a YAML or JSON file, in their order; `kind: List` is opened. Documents with nothing in them are passed over, as kubectl does. */
export function readObjects(file: string, bytes: Uint8Array): SourceObject[] {
  return readDocuments(file, bytes).flatMap(({ value, source }) => objectsOf(value, source));
}

/** Values of the documents of a file that hold any. */
export function readDocuments(file: string, bytes: Uint8Array): { value: JsonObject; source: Place }[] {
  if (bytes.length > MAX_FILE_BYTES)
    throw new Failure(`${file}: ${bytes.length} bytes, but at most ${MAX_FILE_BYTES} are read`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Failure(`${file}: is not UTF-8 text`, { cause });
  }
  const out: { value: JsonObject; source: Place }[] = [];
  for (const [index, chunk] of documentsOf(text).entries()) {
    const source = { file, document: index + 1, line: chunk.line };
    for (const value of parse(chunk.text, source)) {
      if (value === null || value === undefined) continue;
      if (!isObject(value)) throw at(source, `holds ${describe(value)} where an object is expected`);
      checkValues(value, source);
      out.push({ value, source });
    }
  }
  return out;
}

/** The text cut at its `---` lines (which mean that anywhere in column one), each with the line its content begins on. */
function documentsOf(text: string): { text: string; line: number }[] {
  const chunks: { text: string; first: number }[] = [];
  let lines: string[] = [];
  let first = 1;
  const all = text.split('\n');
  all.forEach((raw, index) => {
    const line = raw.startsWith('\ufeff') ? raw.slice(1) : raw;
    const holdsContent = lines.some((l) => l.trim() !== '' && !/^[#%]/.test(l));
    const opened = lines[0]?.startsWith('---') === true;
    if (/^---(\s|$)/.test(line) && (holdsContent || opened)) {
      chunks.push({ text: lines.join('\n'), first });
      lines = [];
      first = index + 1;
    }
    lines.push(line);
  });
  chunks.push({ text: lines.join('\n'), first });
  return chunks.map(({ text: body, first: start }) => {
    const content = body.split('\n').findIndex((line) => !/^\s*(#.*|---\s*(#.*)?)?\r?$/.test(line));
    // Blank lines in front keep the parser's line numbers those of the file.
    return { text: '\n'.repeat(start - 1) + body, line: start + Math.max(0, content) };
  });
}

function parse(text: string, source: Place): unknown[] {
  try {
    return Array.from(readYaml(text), (document) => soleValue(document, source));
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw at({ ...source, line: error.line ?? source.line }, `is not valid YAML: ${error.message}`, error);
  }
}

/** A field given twice is a slip of the pen, which kubectl lets pass. One that is merged in as well may be meant. */
function soleValue({ value, repeated }: YamlDocument, source: Place): unknown {
  const slip = repeated.find(({ merged }) => !merged);
  if (slip === undefined) return value;
  throw at({ ...source, line: slip.line }, `is not valid YAML: duplicated mapping key "${slip.key}"`);
}

/** What JSON or an object here cannot carry is refused rather than changed on the way. */
function checkValues(value: unknown, source: Place, path = ''): void {
  if (typeof value === 'number' || typeof value === 'bigint') checkNumber(value, path, source);
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) throw at(source, `${path}.__proto__ is not a name a field can have`);
  for (const [key, item] of Object.entries(value))
    checkValues(item, source, Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`);
}

function checkNumber(value: number | bigint, path: string, source: Place): void {
  const isInexact = typeof value === 'bigint' || (Number.isInteger(value) && !Number.isSafeInteger(value));
  if (isInexact && Math.abs(Number(value)) <= 2 ** 64)
    throw at(source, `${path}: an integer beyond 9007199254740991 is not kept exactly; quote it`);
}

function objectsOf(value: JsonObject, source: Place): SourceObject[] {
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== 'string' || apiVersion === '') throw at(source, 'apiVersion is missing');
  if (typeof kind !== 'string' || kind === '') throw at(source, 'kind is missing');
  if (kind === 'List' && Array.isArray(value.items)) {
    return value.items.flatMap((item: unknown, index) => {
      if (!isObject(item)) throw at(source, `items[${index}] holds ${describe(item)} where an object is expected`);
      return objectsOf(item, source);
    });
  }
  if (!isObject(metadata)) throw at(source, `metadata of the ${kind} is missing`);
  const { name, generateName } = metadata;
  if (typeof name !== 'string' && typeof generateName !== 'string') {
    const wrong = name === undefined || name === null ? 'is missing' : `must be text, not ${describe(name)}; quote it`;
    throw at(source, `metadata.name of the ${kind} ${wrong}`);
  }
  return [{ object: { ...value, apiVersion, kind, metadata }, source }];
}

/** An error about a place in a file: `vm.yaml, document 2, line 7: …`. */
export function at(source: Place, message: string, cause?: unknown): Failure {
  return new Failure(`${source.file}, document ${source.document}, line ${source.line}: ${message}`, { cause });
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return `the ${typeof value} ${JSON.stringify(value)}`;
}
