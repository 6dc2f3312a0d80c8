import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { MAX_FILE_BYTES } from './documents.ts';

const PIECE_BYTES = 64 << 10;
const LOOK_MS = 20;

/**
 * All that is written into a named pipe, such as the shell's `<(…)`. It waits for somebody to write, and until they are done; an abort ends that, which it
 * would not if the system were asked to wait. Throws where there is more than a manifest may have.
 */
export async function readPipe(path: string, signal: AbortSignal): Promise<Uint8Array> {
  await using pipe = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    signal.throwIfAborted();
    const piece = await pieceOf(pipe);
    if (piece?.length === 0 && size > 0) return Buffer.concat(pieces);
    if (piece === undefined || piece.length === 0) {
      await delay(LOOK_MS, undefined, { signal });
      continue;
    }
    size += piece.length;
    if (size > MAX_FILE_BYTES) throw new Error(`more than ${MAX_FILE_BYTES} bytes, and no more are read`);
    pieces.push(piece);
  }
}

/** Empty: nobody has it open to write; undefined: somebody has, and has written nothing more yet. */
async function pieceOf(pipe: FileHandle): Promise<Uint8Array | undefined> {
  try {
    const { bytesRead, buffer } = await pipe.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, null);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
