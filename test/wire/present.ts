import { dig, dumps, type Fields, fieldsOf } from './exact-json.ts';
import type { Show, Step } from './wire-case.ts';

/** What a step brought. */
export interface Result {
  readonly code?: number;
  readonly headers?: NodeJS.Dict<string[]>;
  readonly body?: unknown;
  readonly stream?: boolean;
  readonly events?: readonly unknown[];
  readonly closed?: boolean;
  readonly checks?: readonly (boolean | null)[];
}

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, '<microtime>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>'],
  [/(too old resource version: )\d+ \(\d+\)/g, '$1<rv> (<rv>)'],
  [/(Too large resource version: )\d+, current: \d+/g, '$1<rv>, current: <rv>'],
  [/(ResourceVersion in (?:precondition|object meta): )\d+/g, '$1<rv>'],
  [/(ResourceVersion in (?:the precondition|record) )\(\d+\)/g, '$1(<rv>)'],
  [/hash=[0-9A-Fa-f]+/g, 'hash=<hash>'],
  [/\(0xc[0-9a-f]+\)/g, '(<pointer>)'],
];

const isNumber = (value: unknown): boolean => /^\d+$/.test(String(value ?? ''));

/** Whether something has the version of a list, not of an object. */
function isListish(fields: Fields): boolean {
  if ('items' in fields || 'rows' in fields || String(fields.kind ?? '').endsWith('List')) return true;
  return !fieldsOf(fields.metadata)?.name;
}

/** Names what differs from run to run: uids in order of appearance, versions by rank, times. */
export class Symbols {
  readonly #namespace: string;
  readonly #uids = new Map<string, string>();
  readonly #versions = new Set<number>();
  readonly #ranks = new Map<number, string>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** Notes the versions of the objects in an answer. */
  see(value: unknown): void {
    if (Array.isArray(value)) for (const item of value) this.see(item);
    const fields = fieldsOf(value);
    if (fields === undefined) return;
    const version = fieldsOf(fields.metadata)?.resourceVersion;
    if (!isListish(fields) && isNumber(version)) this.#versions.add(Number(version));
    for (const field of Object.values(fields)) this.see(field);
  }

  settle(): void {
    for (const [i, version] of [...this.#versions].sort((a, b) => a - b).entries())
      this.#ranks.set(version, `$rv${i + 1}`);
  }

  text(text: string): string {
    let named = text.replaceAll(this.#namespace, '$NS').replace(UID, (uid) => this.#uidOf(uid));
    for (const [pattern, name] of TEXTS) named = named.replace(pattern, name);
    return named;
  }

  #uidOf(uid: string): string {
    const name = this.#uids.get(uid) ?? `<uid${this.#uids.size + 1}>`;
    this.#uids.set(uid, name);
    return name;
  }

  normalised(value: unknown, managed: boolean): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.normalised(item, managed));
    const fields = fieldsOf(value);
    if (fields === undefined) return value;
    const dropped = (key: string) =>
      key === 'serverAddressByClientCIDRs' || (key === 'managedFields' && Array.isArray(fields[key]) && !managed);
    const keys = Object.keys(fields).filter((key) => !dropped(key));
    // In their order: uids are numbered as they appear.
    const out: Fields = Object.fromEntries(
      keys.sort().map((key) => [this.text(key), this.normalised(this.#field(fields, key), managed)]),
    );
    if (fields.kind === 'Table') namelessAges(out);
    if (fields.kind === 'Status') sortCauses(out, fields.reason === 'Invalid');
    return out;
  }

  #field(fields: Fields, key: string): unknown {
    const value = fields[key];
    if (key === 'managedFields' && Array.isArray(value)) return sortedManagers(value);
    if (key === 'storageVersionHash') return '<hash>';
    if (key === 'verbs' && Array.isArray(value)) return [...value].sort();
    if (key === 'description' && typeof value === 'string' && [...value].length > 30) return '<text>';
    const metadata = key === 'metadata' ? fieldsOf(value) : undefined;
    return metadata === undefined ? value : this.#metadata(metadata, isListish(fields));
  }

  #metadata(metadata: Fields, listish: boolean): Fields {
    const { continue: token, ...rest } = metadata;
    const kept = token === undefined || token === '' ? rest : { ...rest, continue: token ? '<continue>' : token };
    if (!isNumber(metadata.resourceVersion)) return kept;
    const version = Number(metadata.resourceVersion);
    if (!listish) return { ...kept, resourceVersion: this.#ranks.get(version) ?? '<rv>' };
    const below = [...this.#versions].filter((each) => each <= version);
    const newest = below.length === 0 ? '0' : this.#ranks.get(Math.max(...below));
    return { ...kept, resourceVersion: `>=${newest}` };
  }
}

function sortedManagers(entries: readonly unknown[]): unknown[] {
  const rank = (entry: Fields) =>
    ['subresource', 'operation', 'manager'].map((name) => String(entry[name] ?? '')).join('\u0000');
  return entries
    .map((entry) => ({ ...(entry as Fields), time: undefined }))
    .map(({ time: _, ...entry }) => entry as Fields)
    .sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

function namelessAges(table: Fields): void {
  if (!Array.isArray(table.rows)) return;
  for (const row of table.rows as Fields[]) {
    const cells = (row.cells ?? []) as unknown[];
    row.cells = cells.map((cell) => (typeof cell === 'string' ? cell.replace(/^(\d+[smhdy])+$/, '<age>') : cell));
  }
}

function sortCauses(status: Fields, invalid: boolean): void {
  const details = fieldsOf(status.details);
  if (details === undefined || !Array.isArray(details.causes)) return;
  details.causes = sortedByText(details.causes);
  if ((details.causes as unknown[]).length > 1 && invalid) status.message = '(as the causes)';
}

export function sortedByText(values: readonly unknown[]): unknown[] {
  return values
    .map((value) => [dumps(value), value] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, value]) => value);
}

/** What is compared of a step. */
export function presented(step: Step, result: Result, symbols: Symbols): unknown {
  const managed = step.managed === true;
  if (result.checks !== undefined) return result.checks;
  if (result.events !== undefined) {
    const events = result.events.map((each) => {
      const { type, object } = each as Fields;
      return { type: type ?? null, object: picked(symbols.normalised(object ?? {}, managed), step.show) };
    });
    const sorted = step.sort === true ? sortedByText(events) : events;
    return { events: sorted, ...(result.closed === undefined ? {} : { closed: result.closed }) };
  }
  const out = headOf(step, result, symbols);
  if (result.stream === true) return out;
  if (step.show === 'length') return { ...out, empty: result.body === '' };
  const body = bodyOf(step, result, symbols);
  return body === '' || dumps(body) === '{}' ? out : { ...out, body };
}

function headOf(step: Step, { code, headers = {} }: Result, symbols: Symbols): Fields {
  const out: Fields = { code };
  const one = (name: string) => headers[name.toLowerCase()]?.join(', ');
  if (one('Content-Type') && step.anytype !== true) out.type = one('Content-Type');
  if (headers.warning !== undefined) out.warnings = headers.warning.map((text) => symbols.text(text)).sort();
  for (const name of ['Retry-After', 'Allow', ...(step.also ?? [])]) {
    const value = one(name);
    if (value === undefined) continue;
    out[name.toLowerCase()] = name === 'ETag' || name === 'Expires' ? '<set>' : symbols.text(value);
  }
  return out;
}

function bodyOf({ show, sort, managed }: Step, { code = 0, body }: Result, symbols: Symbols): unknown {
  if (typeof body === 'string') {
    const has = fieldsOf(show)?.has;
    if (Array.isArray(has)) return Object.fromEntries(has.map((part: string) => [part, body.includes(part)]));
    if (show === 'code' || (Array.isArray(show) && code < 300)) return '';
    return [...symbols.text(body.trim())].slice(0, 300).join('');
  }
  if (typeof body !== 'object' || body === null) return body;
  const shown = picked(show === 'code' ? body : symbols.normalised(body, managed === true), show);
  const fields = fieldsOf(shown);
  if (sort === true && fields !== undefined && Array.isArray(fields.items)) fields.items = sortedByText(fields.items);
  return shown;
}

/** Names with versions, for bodies of which no more is told. */
function brief(value: unknown): unknown {
  const fields = fieldsOf(value);
  if (fields === undefined) return value;
  const metadata = fieldsOf(fields.metadata) ?? {};
  if (fields.kind === 'Status') {
    const causes = fieldsOf(fields.details)?.causes;
    const told = ['kind', 'code', 'reason', 'message'].filter((name) => (fields[name] ?? null) !== null);
    const many = Array.isArray(causes) && causes.length > 1 ? { details: { causes } } : {};
    return { ...Object.fromEntries(told.map((name) => [name, fields[name]])), ...many };
  }
  if (fields.kind === 'Table') {
    const columns = ((fields.columnDefinitions ?? []) as Fields[]).map((column) => column.name);
    const rows = ((fields.rows ?? []) as Fields[]).map((row) => row.cells ?? null);
    return { kind: 'Table', columns, rows, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) };
  }
  if (Array.isArray(fields.items)) return { kind: fields.kind ?? null, metadata, items: fields.items.map(brief) };
  const name = [metadata.namespace, metadata.name].filter(Boolean).join('/');
  const version = metadata.resourceVersion ? ` ${metadata.resourceVersion}` : '';
  return `${name}${version}${metadata.deletionTimestamp ? ' deleting' : ''}`;
}

function picked(value: unknown, show: Show | undefined): unknown {
  if (show === undefined || show === null || show === 'all') return value;
  if (show === 'brief') return brief(value);
  const fields = fieldsOf(value);
  if (show === 'code') return fields?.kind === 'Status' && fields.reason ? { reason: fields.reason } : {};
  if (Array.isArray(show)) {
    if (fields?.kind === 'Status' && fields.status === 'Failure') return value;
    const named = (path: unknown) => (Array.isArray(path) ? path.slice(1).join(' ') : String(path));
    return Object.fromEntries(show.map((path: unknown) => [named(path), dig(value, path)]));
  }
  return typeof show === 'string' ? value : pickedBy(value, show as Fields);
}

/** The forms of `show` with a name: `mask` blanks what matches, `keys` gives names only, `where` looks in a list, `has` asks whether. */
function pickedBy(value: unknown, show: Fields): unknown {
  const then = show.then as Show | undefined;
  if (show.mask !== undefined) return picked(masked(value, show.mask as Record<string, string>), then);
  if (show.keys !== undefined) {
    const at = show.keys ? dig(value, show.keys) : value;
    const fields = fieldsOf(at);
    return fields === undefined ? at : Object.keys(fields).sort();
  }
  if (show.where !== undefined) {
    const found = (dig(value, show.where) ?? []) as unknown[];
    const wanted = Object.entries(show.is as Fields);
    return found
      .filter((item) => wanted.every(([path, is]) => dumps(dig(item, path)) === dumps(is)))
      .map((item) => picked(item, then));
  }
  if (show.keysAt !== undefined) return Object.keys(fieldsOf(dig(value, show.keysAt)) ?? {}).sort();
  if (show.namesAt !== undefined)
    return ((dig(value, show.namesAt) ?? []) as Fields[]).map((each) => String(each.name || each.$ref)).sort();
  if (show.has !== undefined) {
    const at = show.of ? dig(value, show.of) : value;
    return Object.fromEntries((show.has as string[]).map((part) => [part, holdsPart(at, part)]));
  }
  return value;
}

function holdsPart(at: unknown, part: string): boolean {
  if (typeof at === 'string') return at.includes(part);
  if (Array.isArray(at)) return at.includes(part);
  return Object.hasOwn(fieldsOf(at) ?? {}, part);
}

function masked(value: unknown, patterns: Readonly<Record<string, string>>): unknown {
  const copy = structuredClone(value);
  for (const [path, pattern] of Object.entries(patterns)) {
    const dot = path.lastIndexOf('.');
    const at = fieldsOf(dot < 0 ? copy : dig(copy, path.slice(0, dot)));
    const last = path.slice(dot + 1);
    if (at !== undefined && new RegExp(`^(?:${pattern})$`).test(String(at[last]))) at[last] = '<match>';
  }
  return copy;
}
