import { createHash } from 'node:crypto';
import { lstat, mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** The kernel takes 107 bytes for the path of a socket; a little is left for what a later version puts beside these. */
const MAX_SOCKET_PATH = 100;

/** Where the files of one guest are. */
export interface GuestFiles {
  readonly dir: string;
  readonly record: string;
  readonly state: string;
  /** Held locked by QEMU: a second one for the same guest cannot start. Also what a guest's process is known by. */
  readonly pidfile: string;
  readonly console: string;
  readonly consoleOld: string;
  readonly stderr: string;
  readonly disk: string;
  /** `dir`, or a short place outside where the sockets' paths would be too long. */
  readonly socketDir: string;
  readonly qmpSocket: string;
  readonly agentSocket: string;
}

export interface SocketRoot {
  /** `/tmp`; short, and writable for this user. */
  readonly root: string;
  readonly userId: number;
}

export function guestFiles(dir: string, sockets: SocketRoot): GuestFiles {
  const tooLong = Buffer.byteLength(join(dir, 'agent.sock')) > MAX_SOCKET_PATH;
  const socketDir = tooLong
    ? join(privateRoot(sockets), createHash('sha256').update(dir).digest('hex').slice(0, 16))
    : dir;
  return {
    dir,
    record: join(dir, 'guest.json'),
    state: join(dir, 'state.json'),
    pidfile: join(dir, 'qemu.pid'),
    console: join(dir, 'console.log'),
    consoleOld: join(dir, 'console.log.1'),
    stderr: join(dir, 'qemu.stderr'),
    disk: join(dir, 'disk.qcow2'),
    socketDir,
    qmpSocket: join(socketDir, 'qmp.sock'),
    agentSocket: join(socketDir, 'agent.sock'),
  };
}

/** Makes the sockets' folder. Throws when somebody else could have put it there: whoever owns it could speak to the guest. */
export async function makeSocketDir(files: GuestFiles, sockets: SocketRoot): Promise<void> {
  if (files.socketDir === files.dir) return;
  for (const dir of [privateRoot(sockets), files.socketDir]) {
    await mkdir(dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const facts = await lstat(dir);
    if (!facts.isDirectory() || facts.uid !== sockets.userId || (facts.mode & 0o077) !== 0) {
      throw new Error(`${dir} is not a folder of user ${sockets.userId} with mode 0700; remove it`);
    }
  }
}

function privateRoot(sockets: SocketRoot): string {
  return join(sockets.root, `coppice-${sockets.userId}`);
}

/** Replaces the file in one step. `durable`: also after a power cut it is the old or the new one. */
export async function writeInOneStep(
  path: string,
  text: string,
  options: { readonly durable: boolean },
): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    if (options.durable) await file.datasync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
