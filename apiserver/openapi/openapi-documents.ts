import type { Kind } from '../../resources/meta/define-kind.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { contentHash } from '../discovery/content-hash.ts';
import { groupsOf } from '../discovery/groups.ts';
import { META_PIECE, type V2Form, V2Piece, v2Document, v2Part } from './v2.ts';
import { openAPIDocument, rootOf } from './v3.ts';

/** A document as it is served: its bytes, and their hash. */
export interface EncodedDocument {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/** Whose kinds are documented; `version` moves when they change. */
interface KindSource {
  kinds(): readonly Kind[];
  readonly version: number;
}

/**
 * The OpenAPI documents of a server, made when they are asked for. After a change of kinds only the groups that changed are described and
 * encoded anew, and the v2 document, which is one for all groups, is put together from pieces: once a change, however many ask for it.
 */
export class OpenAPIDocuments {
  readonly #source: KindSource;
  #made: Made | undefined;

  constructor(source: KindSource) {
    this.#source = source;
  }

  /** Every v3 document, by its path below `/openapi/v3/`: `api/v1`, `apis/coppice.dev/v1`. */
  v3(): ReadonlyMap<string, EncodedDocument> {
    const made = this.#current();
    made.v3 ??= new Map([...made.groups].map(([path, group]) => [path, group.v3]));
    return made.v3;
  }

  /** The v2 document. */
  v2(form: V2Form): EncodedDocument {
    const made = this.#current();
    const there = made.v2.get(form);
    if (there !== undefined) return there;
    const pieces = [META_PIECE, ...[...made.groups.values()].map((group) => group.v2)];
    const document = encoded(v2Document(form, pieces));
    made.v2.set(form, document);
    return document;
  }

  #current(): Made {
    const { version } = this.#source;
    if (this.#made?.version !== version) {
      const groups = grouped(this.#source.kinds(), this.#made?.groups ?? new Map());
      this.#made = { version, groups, v3: undefined, v2: new Map() };
    }
    return this.#made;
  }
}

interface Made {
  readonly version: number;
  readonly groups: ReadonlyMap<string, GroupDocument>;
  v3: ReadonlyMap<string, EncodedDocument> | undefined;
  readonly v2: Map<V2Form, EncodedDocument>;
}

/** The groups of some kinds; those whose kinds are the very same as before are kept with all that was made of them. */
function grouped(kinds: readonly Kind[], before: ReadonlyMap<string, GroupDocument>): Map<string, GroupDocument> {
  const groups = new Map<string, GroupDocument>();
  for (const { group, version, kinds: those } of groupsOf(kinds).flatMap(({ versions }) => versions)) {
    const path = rootOf({ group, version }).slice(1);
    const there = before.get(path);
    groups.set(path, there?.isOf(those) === true ? there : new GroupDocument(those));
  }
  return groups;
}

/** What is said of the kinds of one group and version. */
class GroupDocument {
  readonly #kinds: readonly Kind[];
  readonly v2: V2Piece;
  #v3: EncodedDocument | undefined;

  constructor(kinds: readonly Kind[]) {
    this.#kinds = kinds;
    this.v2 = new V2Piece(() => v2Part(openAPIDocument(kinds)));
  }

  isOf(kinds: readonly Kind[]): boolean {
    return kinds.length === this.#kinds.length && kinds.every((kind, i) => kind === this.#kinds[i]);
  }

  get v3(): EncodedDocument {
    this.#v3 ??= encoded(new TextEncoder().encode(encodeJson(openAPIDocument(this.#kinds))));
    return this.#v3;
  }
}

const encoded = (bytes: Uint8Array): EncodedDocument => ({ bytes, hash: contentHash(bytes) });
