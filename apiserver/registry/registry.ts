import type { Kind } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { compileKindValidator, type KindValidator } from '../admission/validate.ts';

/** A kind that is served, with what was compiled from it. */
export interface ServedKind {
  readonly kind: Kind;
  readonly validate: KindValidator;
}

/** The kinds a server serves. `version` moves with every change, so documents made from it can be kept. */
export class Registry {
  readonly #served = new Map<string, ServedKind>();
  #version = 0;

  /** `kinds` are known to compile. Each is compiled when the first object of it is checked, so that a start does not wait for all. */
  constructor(kinds: readonly Kind[]) {
    for (const kind of kinds) {
      let compiled: KindValidator | undefined;
      const validate: KindValidator = (object, previous) => {
        compiled ??= compileKindValidator(kind);
        return compiled(object, previous);
      };
      this.#serve({ kind, validate });
    }
  }

  /** Serves a kind, in place of an earlier one of the same resource. Throws when its schema does not compile. */
  add(kind: Kind): void {
    this.#serve({ kind, validate: compileKindValidator(kind) });
  }

  find(group: string, version: string, plural: string): ServedKind | undefined {
    const served = this.#served.get(resourceId({ group, plural }));
    return served?.kind.version === version ? served : undefined;
  }

  kinds(): readonly Kind[] {
    return [...this.#served.values()].map((served) => served.kind);
  }

  get version(): number {
    return this.#version;
  }

  #serve(served: ServedKind): void {
    this.#served.set(resourceId(served.kind), served);
    this.#version++;
  }
}
