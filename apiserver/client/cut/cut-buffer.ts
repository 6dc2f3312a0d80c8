import { entry } from '../../../resources/meta/map-entry.ts';
import type { KubeObject } from '../../../resources/meta/object.ts';

/** What one revision did to one object. */
export interface CutEvent {
  /** As `resourceId` has it. */
  readonly resource: string;
  readonly key: string;
  /** Undefined: it was removed. */
  readonly object: KubeObject | undefined;
}

/** A revision that is whole: no watch will tell more of it. */
export interface WholeRevision {
  readonly revision: number;
  readonly events: readonly CutEvent[];
}

/**
 * Puts watches of several resources together again to the one order of revisions that the store has. Each watch tells its own events in order, and how far it
 * has come by bookmarks; a revision is whole once all of them have passed it. An event proves that its watch has passed what is before it, and no more: there
 * may be others of the same revision.
 */
export class CutBuffer {
  readonly #come = new Map<string, number>();
  readonly #events = new Map<number, CutEvent[]>();
  #taken: number;
  #size = 0;

  /** Everything up to `revision` is known. */
  constructor(resources: readonly string[], revision: number) {
    for (const resource of resources) this.#come.set(resource, revision);
    this.#taken = revision;
  }

  /** How many events wait for other watches. */
  get size(): number {
    return this.#size;
  }

  /** The last revision that was taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How far a watch has come: from here on it may be begun again. */
  comeTo(resource: string): number {
    return this.#come.get(resource) ?? this.#taken;
  }

  /** The watches that the others wait for. */
  get last(): readonly string[] {
    const least = this.#least();
    return [...this.#come].filter(([, revision]) => revision === least).map(([resource]) => resource);
  }

  add(event: CutEvent, revision: number): void {
    if (revision <= this.comeTo(event.resource))
      throw new Error(`a watch of ${event.resource} told of revision ${revision}, which it had passed`);
    this.passed(event.resource, revision - 1);
    entry(this.#events, revision, (): CutEvent[] => []).push(event);
    this.#size++;
  }

  /** A watch will tell nothing more of what is up to here. */
  passed(resource: string, revision: number): void {
    this.#come.set(resource, Math.max(this.comeTo(resource), revision));
  }

  /** A watch is begun again from where it has come to: what it told beyond that it will tell again. */
  rewind(resource: string): void {
    const from = this.comeTo(resource);
    for (const [revision, events] of this.#events) {
      if (revision <= from) continue;
      const kept = events.filter((event) => event.resource !== resource);
      this.#size -= events.length - kept.length;
      if (kept.length === 0) this.#events.delete(revision);
      else this.#events.set(revision, kept);
    }
  }

  /** The revisions that have become whole, in order, each once. `taken` is then the last revision that is whole, whether anything happened in it or not. */
  take(): readonly WholeRevision[] {
    const whole = this.#least();
    if (whole === this.#taken) return [];
    this.#taken = whole;
    const revisions = [...this.#events.keys()].filter((revision) => revision <= whole).sort((a, b) => a - b);
    return revisions.map((revision) => {
      const events = this.#events.get(revision) ?? [];
      this.#events.delete(revision);
      this.#size -= events.length;
      return { revision, events };
    });
  }

  #least(): number {
    return Math.min(...this.#come.values());
  }
}
