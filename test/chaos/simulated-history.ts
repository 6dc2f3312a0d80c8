import type { Random } from '../fuzz/random.ts';
import type { Claim, Found, List, Operation, Outcome, Watch, WatchEvent } from './history.ts';

interface Logged {
  readonly version: number;
  readonly key: string;
  readonly value: string | undefined;
}

/** An operation under way: `effect` happens at one moment, `answer` is what is written down at the end. */
interface Flying {
  effect: (() => void) | undefined;
  readonly unknown: boolean;
  finish(returned: number): Operation;
}

const KEYS = ['a', 'b', 'c'];

/**
 * A history of a store that keeps every promise, as random as its seed: clients whose operations overlap, some of them never answered and taking
 * effect late or never, lists and watches that are cut and go on, the first watch from the beginning to the end. At the end everything is
 * read once more. `loses` makes the store forget the effect of that acknowledged write.
 */
export class SimulatedHistory {
  readonly operations: Operation[] = [];
  readonly #random: Random;
  readonly #clients: number;
  readonly #loses: number;
  readonly #log: Logged[] = [];
  readonly #late: (() => void)[] = [];
  #written = 0;
  #moment = 0;
  #version: number;
  #id = 0;
  #value = 0;

  constructor(random: Random, clients: number, steps: number, loses = -1) {
    this.#random = random;
    this.#clients = clients;
    this.#loses = loses;
    this.#version = random.below(50);
    this.#run(steps);
  }

  get version(): number {
    return this.#version;
  }

  moment(): number {
    return ++this.#moment;
  }

  nextId(): number {
    return this.#id++;
  }

  /** What stands at a version. */
  at(key: string, version = this.#version): Found | undefined {
    const last = this.#log.findLast((each) => each.key === key && each.version <= version);
    return last?.value === undefined ? undefined : { value: last.value, version: last.version };
  }

  #run(steps: number): void {
    const began = this.#version;
    const opening = this.moment();
    this.operations.push(this.#listed(0, opening, 'fresh'));
    const flying: (Flying | undefined)[] = Array.from({ length: this.#clients });
    for (let step = 0; step < steps; step++) {
      const client = this.#random.below(this.#clients);
      const now = flying[client];
      if (now === undefined) flying[client] = this.#begin(client);
      else if (now.effect !== undefined && !now.unknown) this.#happen(now);
      else flying[client] = this.#end(now);
      if (this.#random.oneIn(6)) this.#late.shift()?.();
      if (this.#random.oneIn(8)) this.#version++;
    }
    for (const now of flying) {
      if (now === undefined) continue;
      this.#happen(now);
      this.#end(now);
    }
    this.#close(began, opening);
  }

  #happen(now: Flying): void {
    if (!now.unknown) now.effect?.();
    now.effect = undefined;
  }

  #end(now: Flying): undefined {
    if (now.unknown && now.effect !== undefined && this.#random.oneIn(2)) this.#late.push(now.effect);
    this.operations.push(now.finish(this.moment()));
    return undefined;
  }

  #close(began: number, opening: number): void {
    for (const key of KEYS) {
      const called = this.moment();
      this.operations.push(this.#get(0, key, called, this.at(key)));
    }
    this.operations.push(this.#listed(1, this.moment(), 'fresh'));
    this.operations.push(this.#watched(0, opening, began, this.#version));
  }

  #begin(client: number): Flying {
    const called = this.moment();
    const choice = this.#random.below(12);
    const key = this.#random.pick(KEYS);
    if (choice < 7) return this.#write(client, key, called);
    if (choice < 9) {
      let found: Found | undefined;
      const look = () => {
        found = this.at(key);
      };
      return { effect: look, unknown: false, finish: (returned) => this.#get(client, key, called, found, returned) };
    }
    if (choice < 11) {
      let list: List | undefined;
      const look = () => {
        list = this.#listed(client, called, 'fresh');
      };
      return {
        effect: look,
        unknown: false,
        finish: (returned) => ({ ...(list as List), returned, firstPage: returned }),
      };
    }
    const from = this.#version;
    return { effect: () => {}, unknown: false, finish: () => this.#watched(client, called, from, this.#version) };
  }

  #write(client: number, key: string, called: number): Flying {
    const kind = this.#random.pick(['create', 'update', 'update', 'delete'] as const);
    const stood = this.at(key)?.version ?? 0;
    const over = kind !== 'create' && stood > 0 && this.#random.oneIn(2) ? { over: stood } : {};
    const value = kind === 'delete' ? {} : { value: `v${this.#value++}` };
    const unknown = this.#random.oneIn(5);
    let told: { outcome: Outcome; version?: number; claim?: Claim } = { outcome: 'unknown' };
    const effect = () => {
      const claim = this.#refusal(kind, key, over.over);
      told = claim === undefined ? { outcome: 'ok', ...this.#apply(key, value.value) } : { outcome: 'refused', claim };
    };
    const finish = (returned: number): Operation => {
      const answer = unknown ? { outcome: 'unknown' as const } : told;
      return { id: this.nextId(), client, server: 0, called, returned, kind, key, ...value, ...over, ...answer };
    };
    return { effect, unknown, finish };
  }

  #refusal(kind: 'create' | 'update' | 'delete', key: string, over: number | undefined): Claim | undefined {
    const found = this.at(key);
    if (kind === 'create') return found === undefined ? undefined : 'present';
    if (found === undefined) return 'absent';
    return over === undefined || over === found.version ? undefined : 'other';
  }

  #apply(key: string, value: string | undefined): { version?: number } {
    const version = ++this.#version;
    if (this.#written++ !== this.#loses) this.#log.push({ version, key, value });
    return value === undefined ? {} : { version };
  }

  #get(client: number, key: string, called: number, found: Found | undefined, returned = this.moment()): Operation {
    const part = found === undefined ? {} : { found };
    return { id: this.nextId(), client, server: 0, called, returned, outcome: 'ok', kind: 'get', key, ...part };
  }

  #listed(client: number, called: number, mode: List['mode']): List {
    const returned = this.moment();
    const items = KEYS.flatMap((key) => {
      const found = this.at(key);
      return found === undefined ? [] : [{ key, ...found }];
    });
    const versions = [this.#version, this.#version];
    const id = this.nextId();
    return {
      id,
      client,
      server: 0,
      called,
      returned,
      outcome: 'ok',
      kind: 'list',
      mode,
      versions,
      items,
      firstPage: returned,
    };
  }

  #watched(client: number, called: number, from: number, upTo: number): Watch {
    const events = this.#log
      .filter(({ version }) => version > from && version <= upTo)
      .map(({ version, key, value }): WatchEvent => {
        const before = this.at(key, version - 1);
        const at = this.moment();
        if (value === undefined) return { at, type: 'DELETED', version, key, value: before?.value ?? '' };
        return { at, type: before === undefined ? 'ADDED' : 'MODIFIED', version, key, value };
      });
    const end: WatchEvent = { at: this.moment(), type: 'BOOKMARK', version: upTo };
    const returned = this.moment();
    return {
      id: this.nextId(),
      client,
      server: 0,
      called,
      returned,
      outcome: 'ok',
      kind: 'watch',
      from,
      events: [...events, end],
    };
  }
}
