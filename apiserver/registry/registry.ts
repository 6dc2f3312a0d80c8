import type { Kind } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { compileKindValidator, type KindValidator } from '../admission/validate.ts';

/** One version of a kind that is served, with what was compiled from it. */
export interface ServedKind {
  readonly kind: Kind;
  readonly validate: KindValidator;
  /** Aborts when the kind is served no longer, or is served otherwise: its watches end. */
  readonly ending: AbortSignal;
}

interface Served {
  readonly versions: readonly ServedKind[];
  readonly ending: AbortController;
}

/** The kinds a server serves. `version` moves with every change, so documents made from it can be kept. */
export class Registry {
  readonly #served = new Map<string, Served>();
  #version = 0;

  /** `kinds` are known to compile. Each is compiled when the first object of it is checked, so that a start does not wait for all. */
  constructor(kinds: readonly Kind[]) {
    for (const kind of kinds) this.#put(resourceId(kind), [{ kind, validate: compiledAtFirstUse(kind) }]);
  }

  /** Serves a kind in one version. Throws when its schema does not compile. */
  add(kind: Kind): void {
    this.serve([kind]);
  }

  /**
   * Serves the versions of one resource, at least one, in place of those served before. Throws when a schema does not compile: then all is
   * as it was.
   */
  serve(kinds: readonly Kind[]): void {
    const [first] = kinds;
    if (first === undefined) throw new Error('a resource is served in at least one version');
    this.#put(
      resourceId(first),
      kinds.map((kind) => ({ kind, validate: compileKindValidator(kind) })),
    );
  }

  /** Serves a resource no longer. */
  remove(id: string): void {
    const before = this.#served.get(id);
    if (before === undefined) return;
    this.#served.delete(id);
    this.#version++;
    before.ending.abort(new Error(`${id} is served no longer`));
  }

  find(group: string, version: string, plural: string): ServedKind | undefined {
    const served = this.#served.get(resourceId({ group, plural }));
    return served?.versions.find(({ kind }) => kind.version === version);
  }

  /** Whether a resource is served, in whatever version. */
  has(id: string): boolean {
    return this.#served.has(id);
  }

  /** Every version of every kind. */
  kinds(): readonly Kind[] {
    return [...this.#served.values()].flatMap(({ versions }) => versions.map(({ kind }) => kind));
  }

  get version(): number {
    return this.#version;
  }

  #put(id: string, compiled: readonly Omit<ServedKind, 'ending'>[]): void {
    const ending = new AbortController();
    const before = this.#served.get(id);
    this.#served.set(id, { versions: compiled.map((one) => ({ ...one, ending: ending.signal })), ending });
    this.#version++;
    before?.ending.abort(new Error(`${id} is served otherwise now`));
  }
}

function compiledAtFirstUse(kind: Kind): KindValidator {
  let compiled: KindValidator | undefined;
  return (object, previous) => {
    compiled ??= compileKindValidator(kind);
    return compiled(object, previous);
  };
}
