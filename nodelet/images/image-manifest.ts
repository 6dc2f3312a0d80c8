/** `image.json`: what an image folder holds. File names are relative to the folder and have no slash. */
export interface ImageManifest {
  readonly schema: 1;
  readonly name: string;
  readonly guestOS: 'linux';
  /** An uncompressed kernel QEMU can load directly: an ELF with a PVH note (amd64) or `Image` (arm64). */
  readonly kernel: string;
  readonly initrd: string;
  /** Whether the image starts the guest agent on port `dev.coppice.agent.0`. */
  readonly agent: boolean;
  /** Comes before what the driver adds: `coppice.hostname=NAME`, `coppice.ip=ADDRESS/PREFIX`. */
  readonly kernelArguments: string;
  readonly kernelVersion: string;
  /** Debian packages it was made from. */
  readonly packages: Readonly<Record<string, string>>;
  /** `sha256:` of the sources of the agent in it; with `guestSource` tells whether a built image is up to date. */
  readonly agentSource?: string;
  /** `sha256:` of the guest's own scripts. */
  readonly guestSource?: string;
}

const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Reads an image manifest; throws a sentence naming the field at fault. */
export function parseImageManifest(text: string): ImageManifest {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error('image.json is not an object');
  const fields: Readonly<Record<string, unknown>> = { ...value };
  if (fields.schema !== 1) throw new Error(`image.json has schema ${String(fields.schema)}; this version reads 1`);
  if (fields.guestOS !== 'linux') throw new Error(`image.json has guestOS ${String(fields.guestOS)}; expected linux`);
  return {
    schema: 1,
    name: textField(fields, 'name'),
    guestOS: 'linux',
    kernel: fileField(fields, 'kernel'),
    initrd: fileField(fields, 'initrd'),
    agent: fields.agent === true,
    kernelArguments: textField(fields, 'kernelArguments'),
    kernelVersion: textField(fields, 'kernelVersion'),
    packages: packagesField(fields.packages),
    ...(fields.agentSource === undefined ? {} : { agentSource: textField(fields, 'agentSource') }),
    ...(fields.guestSource === undefined ? {} : { guestSource: textField(fields, 'guestSource') }),
  };
}

function textField(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value.length > 4096) throw new Error(`image.json lacks the text field ${name}`);
  return value;
}

/** A file beside the manifest: a slash or a leading dot would let an image name files that are not its own. */
function fileField(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = textField(fields, name);
  if (!FILE_NAME.test(value)) throw new Error(`image.json field ${name} is not a plain file name: ${value}`);
  return value;
}

function packagesField(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) throw new Error('image.json lacks the field packages');
  return Object.fromEntries(Object.entries(value).map(([name, version]) => [name, String(version)]));
}
