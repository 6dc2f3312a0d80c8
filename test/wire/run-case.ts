import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { dig, dumps, ExactNumber, type Fields, fieldsOf, parseExact } from './exact-json.ts';
import { presented, type Result, Symbols } from './present.ts';
import type { Step, WireCase, WireRequest } from './wire-case.ts';
import type { WireAnswer, WireConnection } from './wire-connection.ts';
import { WireWatch } from './wire-watch.ts';

const SHORTHANDS = [
  ['$W', '/apis/demo.example.com/v1/namespaces/$NS/widgets'],
  ['$G', '/apis/demo.example.com/v1/gadgets'],
  ['$C', '/api/v1/namespaces/$NS/configmaps'],
  ['$S', '/api/v1/namespaces/$NS/secrets'],
] as const;

/** Runs a case in a namespace of its own; what each step showed, undefined where there is nothing to compare. */
export async function runCase(wireCase: WireCase, connection: WireConnection, letters: string): Promise<unknown[]> {
  const namespace = `w-${wireCase.id.slice(0, 40).replace(/-+$/, '')}-${letters}`;
  const run = new CaseRun(connection, namespace);
  try {
    if (wireCase.ns !== false) await run.makeNamespace();
    for (const step of wireCase.given ?? []) await run.perform(step);
    const results: (Result | undefined)[] = [];
    for (const step of wireCase.steps) results.push(await run.perform(step));
    const symbols = new Symbols(namespace);
    for (const [i, result] of results.entries()) {
      if (result !== undefined && wireCase.steps[i]?.show !== 'code') symbols.see(result.events ?? result.body);
    }
    symbols.settle();
    return results.map((result, i) => result && presented(wireCase.steps[i] as Step, result, symbols));
  } finally {
    run[Symbol.dispose]();
  }
}

class CaseRun implements Disposable {
  readonly #connection: WireConnection;
  readonly #env: Map<string, unknown>;
  readonly #watches = new Map<string, WireWatch>();

  constructor(connection: WireConnection, namespace: string) {
    this.#connection = connection;
    this.#env = new Map([['NS', namespace]]);
  }

  async makeNamespace(): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.#env.get('NS') } };
    const wish = { method: 'POST', path: '/api/v1/namespaces', type: 'application/json', body };
    const { code, data } = await this.#connection.call(wish);
    if (code !== 201) throw new Error(`no namespace: ${code} ${data.toString('utf8').slice(0, 200)}`);
  }

  async perform(step: Step): Promise<Result | undefined> {
    if (step.sleep !== undefined) {
      await delay(Number(numberOf(step.sleep)) * 1000);
      return undefined;
    }
    if (step.check !== undefined) return { checks: step.check.map((check) => this.#holds(check)) };
    if (step.until !== undefined) return this.#waitUntil(this.#fill(step.until) as NonNullable<Step['until']>);
    if (step.watch !== undefined) return this.#watch(step.watch, this.#fill(requestOf(step)) as WireRequest);
    if (step.collect !== undefined) return this.#collect(step, this.#watchOf(step.collect));
    if (step.end !== undefined) return this.#watchOf(step.end).finish(numberOf(step.wait ?? 8) * 1000);
    return this.#request(step);
  }

  async #request(step: Step): Promise<Result> {
    const answer = await this.#connection.call(this.#fill(requestOf(step)) as WireRequest);
    const body = parsedBody(answer);
    for (const [name, path] of Object.entries(step.save ?? {})) this.#env.set(name, dig(body, path));
    for (const [name, header] of Object.entries(step.saveHeader ?? {}))
      this.#env.set(name, answer.headers[header.toLowerCase()]?.[0] ?? null);
    return { code: answer.code, headers: answer.headers, body };
  }

  async #watch(name: string, wish: WireRequest): Promise<Result> {
    const watch = new WireWatch(await this.#connection.open(wish));
    this.#watches.set(name, watch);
    if (watch.head.code === 200) return { ...watch.head, stream: true };
    return { ...watch.head, body: parsedBody({ ...watch.head, data: await watch.whole(5000) }) };
  }

  async #collect(step: Step, watch: WireWatch): Promise<Result> {
    const count = step.count ?? 1;
    // Where all of them must come, a slow machine may take its time; only what must not come is waited for as long as it was recorded.
    const wanted = fieldsOf(step.want)?.events;
    const patience = Array.isArray(wanted) && wanted.length >= count ? 20 : 5;
    const events = await watch.take(count, numberOf(step.wait ?? patience) * 1000);
    for (const [name, path] of Object.entries(step.save ?? {})) this.#env.set(name, dig(events, path));
    return { events };
  }

  /** Asks again and again; what it never answers shows in the steps that come. */
  async #waitUntil(until: NonNullable<Step['until']>): Promise<undefined> {
    const end = performance.now() + numberOf(until.seconds ?? 10) * 1000;
    for (;;) {
      const answer = await this.#connection.call({ ...until, method: 'GET' });
      const body = parsedBody(answer);
      const has = Object.entries(until.has ?? {}).every(([path, value]) => pythonText(dig(body, path)) === value);
      if ((answer.code === (until.code ?? 200) && has) || performance.now() > end) return undefined;
      await delay(50);
    }
  }

  #watchOf(name: string): WireWatch {
    const watch = this.#watches.get(name);
    if (watch === undefined) throw new Error(`no watch ${name}`);
    return watch;
  }

  #holds([operator, left, right]: readonly [string, unknown, unknown]): boolean | null {
    const [a, b] = [this.#fill(left), this.#fill(right)];
    if (operator === 'eq') return a === b;
    if (operator === 'ne') return a !== b;
    if (![a, b].every((text) => /^-?\d+$/.test(String(text)))) return null;
    const [x, y] = [BigInt(String(a)), BigInt(String(b))];
    return operator === 'lt' ? x < y : x <= y;
  }

  #fill(value: unknown): unknown {
    if (typeof value === 'string') return this.#fillText(value);
    if (Array.isArray(value)) return value.map((item) => this.#fill(item));
    const fields = fieldsOf(value);
    if (fields === undefined) return value;
    return Object.fromEntries(Object.entries(fields).map(([k, v]) => [this.#fillText(k), this.#fill(v)]));
  }

  #fillText(text: string): string {
    let filled = text;
    for (const [short, long] of SHORTHANDS) {
      if (filled.startsWith(short) && !filled.startsWith('$NS')) filled = long + filled.slice(short.length);
    }
    filled = filled.replaceAll('$NS', String(this.#env.get('NS')));
    return filled.replace(/\$\{(\w+)([+-]\d+)?\}/g, (_, name: string, more: string | undefined) => {
      const value = this.#env.get(name);
      if (more !== undefined) return String(BigInt(String(value)) + BigInt(more));
      return value ? pythonText(value) : '';
    });
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches.values()) watch[Symbol.dispose]();
  }
}

function requestOf(step: Step): Fields {
  const { want: _, show: __, save: ___, ...request } = step;
  return request;
}

function parsedBody({ headers, data }: WireAnswer): unknown {
  const text = decoded(headers['content-encoding']?.[0], data).toString('utf8');
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function decoded(encoding: string | undefined, data: Buffer): Buffer {
  if (encoding !== 'gzip') return data;
  try {
    return gunzipSync(data);
  } catch {
    return data;
  }
}

const numberOf = (value: unknown): number => (value instanceof ExactNumber ? Number(value.text) : Number(value));

/** A value as the recorder's language writes it as text. */
function pythonText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return dumps(value);
}
