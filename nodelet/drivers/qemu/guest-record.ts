import { readFile } from 'node:fs/promises';
import Type, { type Static, type TSchema } from 'typebox';
import { Check } from 'typebox/schema';
import { type GuestFiles, writeInOneStep } from './guest-files.ts';

const GuestRecordSchema = Type.Object({
  schema: Type.Literal(1),
  spec: Type.Object({
    id: Type.String(),
    label: Type.String(),
    hostname: Type.String(),
    guestOS: Type.Union([Type.Literal('macos'), Type.Literal('linux')]),
    image: Type.Object({ path: Type.String(), digest: Type.String() }),
    vcpus: Type.Number(),
    memoryBytes: Type.Number(),
    diskBytes: Type.Number(),
    epoch: Type.Number(),
  }),
  /** Whether its image starts a guest agent. */
  agent: Type.Boolean(),
});

const GuestStateSchema = Type.Object({
  schema: Type.Literal(1),
  /** What was last asked for: `Starting` until QEMU runs the guest, `Stopping` once it is to end. */
  phase: Type.Union([Type.Literal('Off'), Type.Literal('Starting'), Type.Literal('Running'), Type.Literal('Stopping')]),
  /** How often it was started. */
  generation: Type.Number(),
  pid: Type.Optional(Type.Number()),
  startTime: Type.Optional(Type.String()),
  bootId: Type.Optional(Type.String()),
  /** Milliseconds since the epoch. */
  startedAt: Type.Optional(Type.Number()),
  /** The reason in QEMU's last SHUTDOWN event of this start. */
  shutdownReason: Type.Optional(Type.String()),
  stopReason: Type.Optional(
    Type.Union([
      Type.Literal('Requested'),
      Type.Literal('GuestShutdown'),
      Type.Literal('Crashed'),
      Type.Literal('HostRebooted'),
      Type.Literal('StartFailed'),
    ]),
  ),
  message: Type.Optional(Type.String()),
});

/** `guest.json`: what the guest is. Written before anything else of it exists. */
export type GuestRecord = Static<typeof GuestRecordSchema>;
/** `state.json`: what is known of its process. */
export type GuestState = Static<typeof GuestStateSchema>;

export const NEVER_STARTED: GuestState = { schema: 1, phase: 'Off', generation: 0 };

/** Undefined if the folder holds no readable guest. */
export function readRecord(files: GuestFiles): Promise<GuestRecord | undefined> {
  return readAs(GuestRecordSchema, files.record);
}

/** A state that cannot be read is as good as none: the pidfile still finds a running process. */
export async function readState(files: GuestFiles): Promise<GuestState> {
  return (await readAs(GuestStateSchema, files.state)) ?? NEVER_STARTED;
}

export async function writeRecord(files: GuestFiles, record: GuestRecord): Promise<void> {
  await writeInOneStep(files.record, `${JSON.stringify(record)}\n`, { durable: true });
}

export async function writeState(files: GuestFiles, state: GuestState): Promise<void> {
  // Not worth a flush: after a power cut the guest is off whatever is written here.
  await writeInOneStep(files.state, `${JSON.stringify(state)}\n`, { durable: false });
}

async function readAs<T extends TSchema>(schema: T, path: string): Promise<Static<T> | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Check(schema, value) ? value : undefined;
  } catch (error) {
    // Not a folder: what a file manager left among them.
    const absent = error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
    if (absent || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
