import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

type Write = (writer: BinaryWriter) => unknown;

/** The bytes of a message. */
export function message(write: Write): Uint8Array {
  const writer = new BinaryWriter();
  write(writer);
  return writer.finish();
}

/** Writes a message into a field. */
export function nested(writer: BinaryWriter, number: number, inner: Write | Uint8Array): void {
  writer.tag(number, WireType.LengthDelimited).bytes(inner instanceof Uint8Array ? inner : message(inner));
}

/** The body that carries a message. An empty type is left out. */
export function enveloped(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array {
  const envelope = message((writer) => {
    nested(writer, 1, (type) => {
      if (apiVersion !== '') type.tag(1, WireType.LengthDelimited).string(apiVersion);
      if (kind !== '') type.tag(2, WireType.LengthDelimited).string(kind);
    });
    nested(writer, 2, raw);
  });
  return Buffer.concat([Buffer.from('k8s\0'), envelope]);
}
