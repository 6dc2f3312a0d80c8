import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import type { Clock } from '../../../resources/ambient/clock.ts';

const SimGuestSchema = Type.Object({
  spec: Type.Object({
    id: Type.String(),
    label: Type.String(),
    hostname: Type.String(),
    guestOS: Type.Union([Type.Literal('macos'), Type.Literal('linux')]),
    image: Type.Object({ path: Type.String(), digest: Type.String() }),
    vcpus: Type.Number(),
    memoryBytes: Type.Number(),
    diskBytes: Type.Number(),
    volumes: Type.Optional(Type.Array(Type.String())),
    epoch: Type.Number(),
  }),
  power: Type.Union([Type.Literal('Off'), Type.Literal('Running'), Type.Literal('Paused')]),
  /** When it was last started; it counts as running from `bootedAt` on. Milliseconds since the epoch. */
  startedAt: Type.Optional(Type.Number()),
  bootedAt: Type.Optional(Type.Number()),
  stopReason: Type.Optional(
    Type.Union([
      Type.Literal('Requested'),
      Type.Literal('GuestShutdown'),
      Type.Literal('Crashed'),
      Type.Literal('StartFailed'),
    ]),
  ),
  message: Type.Optional(Type.String()),
  /** The console log, its last lines. */
  log: Type.Array(Type.String()),
  /** How many lines were written in all. */
  logged: Type.Number(),
});
const FileSchema = Type.Object({
  schema: Type.Literal(1),
  hosts: Type.Record(Type.String(), Type.Record(Type.String(), SimGuestSchema)),
  /** By host and id: the bytes of the files of volumes. Absent: none. */
  volumes: Type.Optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.Number()))),
});

/** A simulated guest as it is kept on disk. */
export type SimGuest = Static<typeof SimGuestSchema>;

/** The guests and volumes of one host. After changing any, await `save`. */
export interface SimHost {
  readonly guests: Map<string, SimGuest>;
  /** The bytes of the files of volumes, by id. */
  readonly volumes: Map<string, number>;
  /** The guests as the file has them: what is found after a crash. Their logs and specs are those of `guests`. */
  readonly saved: ReadonlyMap<string, SimGuest>;
  /** The volumes as the file has them. */
  readonly savedVolumes: ReadonlyMap<string, number>;
  /** Resolves when the guests as they are now are in the file. */
  save(): Promise<void>;
  /** Resolves when no change waits for the file; writes only what a `save` has not yet, or failed to. */
  settled(): Promise<void>;
}

/** After a write, this many times as long as it took passes before the next: with thousands of hosts, saving stays a small share of the work. */
const REST = 2;

/**
 * Simulated guests and volumes of any number of hosts, in one JSON file. The file is replaced as a whole by a rename, so a reader sees one state or the next; saves
 * that come while it is being written share the next write. It outlives the process, not a power cut: nothing here is worth an fsync.
 */
export class SimGuestsFile implements AsyncDisposable {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #hosts = new Map<string, Map<string, SimGuest>>();
  readonly #volumes = new Map<string, Map<string, number>>();
  readonly #saved = new Map<string, ReadonlyMap<string, SimGuest>>();
  readonly #savedVolumes = new Map<string, ReadonlyMap<string, number>>();
  /** Hosts whose changes no write has taken yet. */
  readonly #unsaved = new Set<string>();
  /** Hosts whose changes are in the write under way. */
  #inWrite: ReadonlySet<string> = new Set();
  /** Each host's part of the file as text; absent when it has changed since. */
  readonly #texts = new Map<string, string>();
  #next: Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();
  #restUntil = 0;

  private constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Reads the file, if there is one. Throws when it is not such a file. */
  static async open(path: string, clock: Clock): Promise<SimGuestsFile> {
    const file = new SimGuestsFile(path, clock);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return file;
    const content = parse(path, text);
    for (const [name, guests] of Object.entries(content.hosts)) {
      file.#hosts.set(name, new Map(Object.entries(guests)));
      file.#volumes.set(name, new Map(Object.entries(content.volumes?.[name] ?? {})));
      file.#keep(name, file.#snapshot(name));
    }
    return file;
  }

  /** The part of one host. */
  host(name: string): SimHost {
    const guests = this.#hosts.get(name) ?? new Map<string, SimGuest>();
    this.#hosts.set(name, guests);
    const volumes = this.#volumes.get(name) ?? new Map<string, number>();
    this.#volumes.set(name, volumes);
    const savedNow = () => this.#saved.get(name) ?? new Map<string, SimGuest>();
    const savedVolumesNow = () => this.#savedVolumes.get(name) ?? new Map<string, number>();
    return {
      guests,
      volumes,
      get saved() {
        return savedNow();
      },
      get savedVolumes() {
        return savedVolumesNow();
      },
      save: () => {
        this.#texts.delete(name);
        this.#unsaved.add(name);
        return this.#save();
      },
      settled: async () => {
        if (this.#unsaved.has(name)) await this.#save();
        else if (this.#inWrite.has(name)) await this.#last;
      },
    };
  }

  /** Whoever has the part of a host is dead: changes that no write has taken are lost, and nothing counts that is still done to it. */
  kill(name: string): void {
    this.#unsaved.delete(name);
    this.#revert(name);
  }

  /** The part of one host, as a process finds it that starts anew. */
  async reopen(name: string): Promise<SimHost> {
    this.kill(name);
    if (this.#inWrite.has(name)) await this.#last.catch(() => {});
    this.#revert(name);
    return this.host(name);
  }

  /** Waits for what is still to be written. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#next;
    await this.#last;
  }

  #save(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const before = this.#last;
    const write = before.catch(() => {}).then(() => this.#write());
    this.#next = write;
    this.#last = write;
    return write;
  }

  async #write(): Promise<void> {
    const rest = this.#restUntil - this.#clock.monotonic();
    if (rest > 0) await this.#clock.sleep(rest);
    // From here on a save belongs to the write after this one: what it changed may already have been put into words.
    this.#next = undefined;
    const began = this.#clock.monotonic();
    const snapshots = [...this.#unsaved].map((name) => [name, this.#snapshot(name)] as const);
    this.#inWrite = new Set(this.#unsaved);
    this.#unsaved.clear();
    try {
      await this.#replace(this.#text());
      for (const [name, snapshot] of snapshots) this.#keep(name, snapshot);
    } catch (error) {
      for (const [name] of snapshots) this.#unsaved.add(name);
      throw error;
    } finally {
      this.#inWrite = new Set();
    }
    this.#restUntil = this.#clock.monotonic() + (this.#clock.monotonic() - began) * REST;
  }

  async #replace(text: string): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    await writeFile(temporary, text, { mode: 0o600 });
    await rename(temporary, this.#path);
  }

  #revert(name: string): void {
    this.#texts.delete(name);
    this.#hosts.set(name, new Map(structuredClone([...(this.#saved.get(name) ?? [])])));
    this.#volumes.set(name, new Map(this.#savedVolumes.get(name)));
  }

  #snapshot(name: string): Snapshot {
    return {
      guests: new Map([...(this.#hosts.get(name) ?? [])].map(([id, guest]) => [id, { ...guest }])),
      volumes: new Map(this.#volumes.get(name)),
    };
  }

  #keep(name: string, { guests, volumes }: Snapshot): void {
    this.#saved.set(name, guests);
    this.#savedVolumes.set(name, volumes);
  }

  #text(): string {
    const parts: string[] = [];
    for (const [name, guests] of this.#hosts) {
      let text = this.#texts.get(name);
      if (text === undefined) {
        text = JSON.stringify(Object.fromEntries(guests));
        this.#texts.set(name, text);
      }
      parts.push(`${JSON.stringify(name)}:${text}`);
    }
    const held = [...this.#volumes].filter(([, volumes]) => volumes.size > 0);
    const volumes = Object.fromEntries(held.map(([name, some]) => [name, Object.fromEntries(some)]));
    return `{"schema":1,"hosts":{${parts.join(',\n')}},"volumes":${JSON.stringify(volumes)}}\n`;
  }
}

interface Snapshot {
  readonly guests: ReadonlyMap<string, SimGuest>;
  readonly volumes: ReadonlyMap<string, number>;
}

function parse(path: string, text: string): Static<typeof FileSchema> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${path} is not JSON; move it away to start without simulated guests`, { cause });
  }
  if (!Check(FileSchema, content)) throw new Error(`${path} is not a file of simulated guests of schema 1`);
  return content;
}
