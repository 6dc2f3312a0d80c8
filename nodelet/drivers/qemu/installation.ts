import type { Clock } from '../../../resources/ambient/clock.ts';
import { runTool } from './run-tool.ts';

export type QemuArchitecture = 'x86_64' | 'aarch64';

/** The QEMU of this machine. */
export interface QemuInstallation {
  readonly binary: string;
  readonly architecture: QemuArchitecture;
  /** As QEMU says it, e.g. `7.2.22`. */
  readonly version: string;
  /** The versioned machine type guests get, so that an upgrade of QEMU does not change a guest's hardware under it. */
  readonly machine: string;
}

/** Asks the QEMU for guests of `architecture` who it is. Throws, saying what to install, when there is none. */
export async function findQemu(
  architecture: QemuArchitecture,
  options: { readonly clock: Clock; readonly binary?: string },
  signal: AbortSignal,
): Promise<QemuInstallation> {
  const binary = options.binary ?? `qemu-system-${architecture}`;
  const said = await runTool(binary, ['--version'], { clock: options.clock, timeoutMs: 10_000 }, signal).catch(
    (cause) => {
      signal.throwIfAborted();
      const debian = architecture === 'x86_64' ? 'qemu-system-x86' : 'qemu-system-arm';
      throw new Error(`cannot run ${binary}; install QEMU (Debian: packages ${debian} and qemu-utils)`, { cause });
    },
  );
  const version = /version (\d+)\.(\d+)\.(\d+)/.exec(said.stdout);
  if (version === null)
    throw new Error(`${binary} --version did not tell a version: ${JSON.stringify(said.stdout.slice(0, 200))}`);
  const [major = 0, minor = 0, patch = 0] = version.slice(1).map(Number);
  return {
    binary,
    architecture,
    version: `${major}.${minor}.${patch}`,
    machine: machineType(architecture, major, minor, patch),
  };
}

function machineType(architecture: QemuArchitecture, major: number, minor: number, patch: number): string {
  // x.y.50 and up are builds on the way to the next minor version and have its machine types; every major ends with .2.
  const next = patch >= 50;
  const of = next && minor === 2 ? `${major + 1}.0` : `${major}.${minor + (next ? 1 : 0)}`;
  return architecture === 'x86_64' ? `pc-q35-${of}` : `virt-${of}`;
}
