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

  constructor(kinds: readonly Kind[]) {
    for (const kind of kinds) this.add(kind);
  }

  /** Serves a kind, in place of an earlier one of the same resource. Throws when its schema does not compile. */
  add(kind: Kind): void {
    this.#served.set(resourceId(kind), { kind, validate: compileKindValidator(kind) });
    this.#version++;
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
}
