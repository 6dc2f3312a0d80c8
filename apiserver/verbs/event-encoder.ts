import type { Kind } from '../../resources/meta/define-kind.ts';
import { encodeJson } from '../../resources/meta/json.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import type { CacheEvent } from '../cache/resource-cache.ts';
import type { StoredObject } from '../cache/stored-object.ts';
import { viewOf } from '../registry/versions.ts';
import { type Form, formOf, type MetaVersion, metaVersionOf, type Representation } from '../requests/media-type.ts';
import { partialMetadata } from '../table/partial-metadata.ts';
import { type IncludeObject, tableOf } from '../table/table.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

const encoder = new TextEncoder();
const END = encoder.encode('}\n');

/** Turns events into lines of a watch stream. One encoding an event, type and representation, shared by all its watchers. */
export class EventEncoder {
  readonly #kind: Kind;
  readonly #representation: Representation;
  readonly #form: Form;
  readonly #metaVersion: MetaVersion;
  readonly #includeObject: IncludeObject;
  readonly #nowMs: () => number;
  /** Tables tell their columns once a stream. */
  #columnsSent = false;

  constructor(kind: Kind, representation: Representation, includeObject: IncludeObject, nowMs: () => number) {
    this.#kind = kind;
    this.#representation = representation;
    this.#form = formOf(representation);
    this.#metaVersion = metaVersionOf(representation);
    this.#includeObject = includeObject;
    this.#nowMs = nowMs;
  }

  /** `event` is where the encoding is kept for the next watcher; without it (a replay) nothing is kept. */
  encode(type: EventType, stored: StoredObject, event?: CacheEvent): Uint8Array {
    const first = this.#form === 'Table' && !this.#columnsSent;
    this.#columnsSent = true;
    if (event === undefined || first) return this.#line(type, stored, first);
    const key = `${apiVersionOf(this.#kind)}/${this.#representation}/${this.#includeObject}/${type}`;
    const made = event.encoded.get(key);
    if (made !== undefined) return made;
    const line = this.#line(type, stored, false);
    event.encoded.set(key, line);
    return line;
  }

  bookmark(object: object): Uint8Array {
    return encoder.encode(`${encodeJson({ type: 'BOOKMARK', object: { ...object, ...this.#bookmarkType() } })}\n`);
  }

  #bookmarkType(): object {
    if (this.#form === 'Object') return {};
    const apiVersion = this.#metaVersion;
    return this.#form === 'Table'
      ? { kind: 'Table', apiVersion, rows: [] }
      : { kind: 'PartialObjectMetadata', apiVersion };
  }

  #line(type: EventType, kept: StoredObject, withColumns: boolean): Uint8Array {
    const stored = viewOf(this.#kind, kept);
    const head = encoder.encode(`{"type":"${type}","object":`);
    const body = this.#form === 'Object' ? stored.bytes : encoder.encode(encodeJson(this.#shape(stored, withColumns)));
    const line = new Uint8Array(head.length + body.length + END.length);
    line.set(head);
    line.set(body, head.length);
    line.set(END, head.length + body.length);
    return line;
  }

  #shape(stored: StoredObject, withColumns: boolean): unknown {
    if (this.#form !== 'Table') return partialMetadata(stored.object, this.#metaVersion);
    return tableOf(this.#kind, [stored.object], {
      listMeta: { resourceVersion: stored.object.metadata.resourceVersion },
      includeObject: this.#includeObject,
      metaVersion: this.#metaVersion,
      nowMs: this.#nowMs(),
      withColumns,
    });
  }
}
