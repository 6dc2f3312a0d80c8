/**
 * The driver contract: what a nodelet asks of a hypervisor on one host.
 *
 * - **Truth is `list`.** It tells every guest this driver has on this host, those an earlier process started included. A driver keeps what it needs
 *   to adopt them on disk under its root.
 * - **Guests outlive the driver.** Disposing a driver detaches from running guests and leaves them running.
 * - **Idempotent.** `create`, `start`, `stop`, `pause`, `resume` and `remove` may be called again after any crash, and end in the same place.
 * - **One operation a guest at a time.** The caller (`serial-driver.ts`) queues them; drivers stay naive.
 * - **Powers are data.** A driver lacking a power says so in `capabilities`; calling it then throws `Unsupported`.
 *
 * `test/nodelet/drivers/contract.ts` runs one suite over every driver.
 */
export interface Driver extends AsyncDisposable {
  readonly name: 'sim' | 'qemu' | 'vz';
  /** Found once at start; does not change while the driver lives. */
  readonly capabilities: DriverCapabilities;
  /** What the host offers to guests. */
  capacity(signal: AbortSignal): Promise<HostCapacity>;
  list(signal: AbortSignal): Promise<readonly ObservedGuest[]>;
  /**
   * macOS slots that the hypervisor counts as taken though no guest that `list` shows as on has them; 0 where it knows of none. A restart of the
   * machine gives them back. Who asks for it and then for `list` counts no slot twice. A change of it is a change of some guest to `changes`.
   */
  leakedSlots(signal: AbortSignal): Promise<number>;
  /**
   * Emits a guest id whenever something about that guest may have changed (a hint: lost hints are found by `list`). Ends with the signal.
   * A bounded set of ids: a slow reader gets each id once.
   */
  changes(signal: AbortSignal): AsyncIterable<string>;
  /**
   * Makes the guest's directory and disk; does not start it. A guest that exists is left as it is, except that a higher epoch is noted.
   * Throws `ImageMissing` (absent, or with another digest), `NoSpace`, `Invalid`, `Unsupported` (guestOS, volumes), `VolumeMissing` (no such file here), `InUse` (another
   * guest here has a volume of it).
   */
  create(spec: GuestSpec, signal: AbortSignal): Promise<void>;
  /** Starts a created or stopped guest; a paused one stays paused. Throws `InUse`, `Failed` (both with the numbers), `ImageMissing`. Resolves once the hypervisor runs it (not once its agent answers). */
  start(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Asks the guest to shut down, waits `graceMs` milliseconds, then ends it. Resolves when it is off. A guest that went off by itself before is off on
   * request from then on: its `stopReason` becomes `Requested`, and stays so over restarts. That is how a user says to have seen a crash.
   */
  stop(id: string, options: { readonly graceMs: number }, signal: AbortSignal): Promise<void>;
  pause(id: string, signal: AbortSignal): Promise<void>;
  resume(id: string, signal: AbortSignal): Promise<void>;
  /** Ends the guest and deletes everything of it. Resolves when nothing is left; an absent guest is success. */
  remove(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Deletes what is left below the driver's root of guests that `list` does not show: folders of a creation or a removal that was cut off, and folders that hold
   * no readable guest, with the disks and firmware in them. Resolves with how many there were, when none is left. Throws `Failed` while there are guests. Nothing may be
   * created meanwhile.
   */
  clear(signal: AbortSignal): Promise<number>;
  /** The files of volumes on this host, those that an earlier process made included. None where `capabilities.volumes` is not set. */
  volumes(signal: AbortSignal): Promise<readonly ObservedVolume[]>;
  /**
   * Makes the file of a volume, sparse and readable to nobody else, or makes it larger; never smaller. Throws `NoSpace`, `InUse` (it is to grow, and a guest here
   * has it), `Unsupported`.
   */
  keepVolume(volume: ObservedVolume, signal: AbortSignal): Promise<void>;
  /** Deletes the file of a volume, and what is in it. An absent one is success. Throws `InUse` while a guest here has it, `Unsupported`. */
  removeVolume(id: string, signal: AbortSignal): Promise<void>;
  /** Runs a command through the guest agent. Throws `NotRunning` (any power but Running), `AgentUnavailable` (it does not answer, yet or any more), `NoSuchGuest`. */
  exec(id: string, request: ExecRequest, signal: AbortSignal): Promise<GuestProcess>;
  /** The console log. `tailLines` undefined = all that is kept. With `follow` it goes on until the signal aborts or the guest is removed. */
  logs(id: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Finds an image below the images folder (or at an absolute path), with its content digest; undefined if it is not there. */
  image(path: string, signal: AbortSignal): Promise<ImageFacts | undefined>;
}

export interface DriverCapabilities {
  /** For humans, e.g. "QEMU 7.2.22". */
  readonly version: string;
  readonly accelerator: 'kvm' | 'tcg' | 'hvf' | 'simulated';
  /** Why the faster accelerator is not used, when it is not. */
  readonly acceleratorNote?: string;
  readonly guestOS: readonly ('macos' | 'linux')[];
  /** Whether guests can run guests. */
  readonly nested?: boolean;
  readonly pause: boolean;
  readonly exec: boolean;
  /** Whether Linux guests can have volumes. */
  readonly volumes?: boolean;
}

/** The file of a volume. */
export interface ObservedVolume {
  /** The serial that its guest knows it by. */
  readonly id: string;
  readonly sizeBytes: number;
}

export interface HostCapacity {
  readonly vcpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** What to run, all resolved: no defaults are applied below this line. */
export interface GuestSpec {
  /** The guestID: a uid. */
  readonly id: string;
  /** For humans in process lists: `namespace/name`. */
  readonly label: string;
  /** RFC 1123 label the guest is to call itself. */
  readonly hostname: string;
  readonly guestOS: 'macos' | 'linux';
  readonly image: { readonly path: string; readonly digest: string };
  readonly vcpus: number;
  readonly memoryBytes: number;
  /** 0 = no disk beyond the image. */
  readonly diskBytes: number;
  /** The ids of its volumes, in the order they are attached in. Absent: none. */
  readonly volumes?: readonly string[];
  /** The binding's epoch; kept with the guest and told back by `list`. */
  readonly epoch: number;
}

export type GuestPower = 'Off' | 'Starting' | 'Running' | 'Paused' | 'Stopping';

export interface ObservedGuest {
  readonly id: string;
  readonly label: string;
  readonly power: GuestPower;
  /** Whether the guest agent has answered since this start and has not fallen silent; undefined = the image has none. */
  readonly agentReady: boolean | undefined;
  readonly guestOS: 'macos' | 'linux';
  readonly vcpus: number;
  readonly memoryBytes: number;
  readonly epoch: number;
  readonly imageDigest: string;
  readonly startedFrom?: 'cold';
  /** When it was last started, in milliseconds since the epoch. */
  readonly startedAt?: number;
  readonly addresses: readonly string[];
  /** How it went off, when it did and nobody asked: `GuestShutdown` (it powered itself off), `Crashed` (its process died), `HostRebooted`. */
  readonly stopReason?: 'Requested' | 'GuestShutdown' | 'Crashed' | 'HostRebooted' | 'StartFailed';
  /** A sentence for people, with the last words of the console or the hypervisor. */
  readonly message?: string;
  /** Something wrong with a running guest. */
  readonly problem?: {
    readonly reason: 'DiskFull' | 'ImageCorrupt' | 'AgentLost' | 'FolderLost';
    readonly message: string;
  };
}

export interface ExecRequest {
  /** argv; the first is looked up in the guest's PATH. Never empty. */
  readonly command: readonly string[];
  /** Without it the command's stdin is empty. */
  readonly stdin: boolean;
  readonly tty?: { readonly rows: number; readonly columns: number };
  readonly env?: Readonly<Record<string, string>>;
}

/** A command in a guest. Ending the signal given to `exec` kills it. */
export interface GuestProcess {
  /** Backpressure is the stream's: what is not read is not asked of the guest (credit-based). */
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  /** Resolves when the guest took the bytes into its buffer. */
  write(bytes: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  resize(rows: number, columns: number): void;
  /** Exit status. `signal` set when a signal ended it (code is then 128 + signal). Rejects `StreamBroken` when the guest or agent went away. */
  readonly exit: Promise<{ readonly code: number; readonly signal?: number }>;
}

export interface LogOptions {
  readonly tailLines?: number;
  readonly follow?: boolean;
}

export interface ImageFacts {
  /** `sha256:<64 hex>` over the image's files. */
  readonly digest: string;
  readonly sizeBytes: number;
}

export type DriverErrorReason =
  | 'NoSuchGuest'
  | 'ImageMissing'
  | 'VolumeMissing'
  | 'NoSpace'
  | 'NotRunning'
  | 'AgentUnavailable'
  | 'StreamBroken'
  | 'Unsupported'
  | 'InUse'
  | 'Invalid'
  | 'Failed';

/** `message` is for people and names the number, file or command at fault. */
export class DriverError extends Error {
  readonly reason: DriverErrorReason;
  constructor(reason: DriverErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DriverError';
    this.reason = reason;
  }
}
