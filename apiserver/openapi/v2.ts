import { encodeJson } from '../../resources/meta/json.ts';
import { GIT_VERSION } from '../discovery/version.ts';
import type { OpenAPIDocument } from './document.ts';
import { META_SCHEMAS, SCALE } from './meta-schemas.ts';
import type { V2Part } from './v2-document.ts';
import { v2PathItem } from './v2-paths.ts';
import { encodeV2Document, encodeV2Part, type V2Bytes } from './v2-protobuf.ts';
import { v2Definition } from './v2-schema.ts';

/** What is asked for; the `@` is not allowed in a media type, so the answer has another name. */
const PROTOBUF_ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export type V2Form = 'json' | 'protobuf';

export const V2_CONTENT_TYPE: Readonly<Record<V2Form, string>> = { json: 'application/json', protobuf: PROTOBUF };

/** The form of `/openapi/v2` that an Accept header asks for: protobuf when it is named before JSON. */
export function v2Form(accept: string): V2Form {
  for (const entry of accept.split(',')) {
    const type = entry.split(';', 1)[0]?.trim().toLowerCase();
    if (type === PROTOBUF_ASKED || type === PROTOBUF) return 'protobuf';
    if (type === 'application/json' || type === 'application/*' || type === '*/*') break;
  }
  return 'json';
}

/** A piece of the v2 document, encoded when it is first needed in a form and then kept. */
export class V2Piece {
  readonly #part: () => V2Part;
  #json: { readonly paths: string; readonly definitions: string } | undefined;
  #protobuf: V2Bytes | undefined;

  constructor(part: () => V2Part) {
    this.#part = part;
  }

  /** The members of the document's `paths` and `definitions`, without braces. */
  get json(): { readonly paths: string; readonly definitions: string } {
    if (this.#json === undefined) {
      const { paths, definitions } = this.#part();
      this.#json = { paths: encodeJson(paths).slice(1, -1), definitions: encodeJson(definitions).slice(1, -1) };
    }
    return this.#json;
  }

  get protobuf(): V2Bytes {
    this.#protobuf ??= encodeV2Part(this.#part());
    return this.#protobuf;
  }
}

/** The schemas that all kinds share. */
export const META_PIECE = new V2Piece(() => ({ paths: {}, definitions: definitionsOf({ ...META_SCHEMAS, ...SCALE }) }));

/** What a v3 document says of its own kinds. */
export function v2Part(document: OpenAPIDocument): V2Part {
  const own = Object.entries(document.components.schemas).filter(([name]) => !(name in META_SCHEMAS || name in SCALE));
  return {
    paths: Object.fromEntries(Object.entries(document.paths).map(([path, item]) => [path, v2PathItem(item)])),
    definitions: definitionsOf(Object.fromEntries(own)),
  };
}

const definitionsOf = (schemas: OpenAPIDocument['components']['schemas']): V2Part['definitions'] =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, v2Definition(schema)]));

const TITLE = 'Coppice';

/** The whole document of some pieces. */
export function v2Document(form: V2Form, pieces: readonly V2Piece[]): Uint8Array {
  if (form === 'protobuf') {
    return encodeV2Document(
      TITLE,
      GIT_VERSION,
      pieces.map((piece) => piece.protobuf),
    );
  }
  const members = (of: 'paths' | 'definitions') =>
    pieces
      .map((piece) => piece.json[of])
      .filter((text) => text !== '')
      .join(',');
  const info = JSON.stringify({ title: TITLE, version: GIT_VERSION });
  const text = `{"swagger":"2.0","info":${info},"paths":{${members('paths')}},"definitions":{${members('definitions')}}}`;
  return new TextEncoder().encode(text);
}
