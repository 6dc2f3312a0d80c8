import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { decompressLz4Legacy } from './lz4-legacy.ts';

const MAX_KERNEL = 256 << 20;
const ELF = 0x464c457f;

/**
 * The uncompressed kernel (ELF) inside an x86 bzImage: QEMU starts it directly, without the decompressor that takes most of an emulated start.
 * Offsets are those of the kernel's boot protocol (Documentation/arch/x86/boot.rst). Throws a sentence when the file is another kind of image.
 */
export function extractVmlinux(bzImage: Uint8Array): Uint8Array {
  const image = Buffer.from(bzImage.buffer, bzImage.byteOffset, bzImage.byteLength);
  if (image.length < 0x250 || image.toString('latin1', 0x202, 0x206) !== 'HdrS')
    throw new Error('the kernel is not an x86 bzImage');
  const setupSectors = image.readUInt8(0x1f1) || 4;
  const start = (setupSectors + 1) * 512 + image.readUInt32LE(0x248);
  const length = image.readUInt32LE(0x24c);
  if (length < 8 || start + length > image.length)
    throw new Error(`the kernel's payload of ${length} bytes at ${start} is not in the file`);
  const payload = image.subarray(start, start + length);
  const kernel = Buffer.from(decompress(payload));
  // The build appends the unpacked size, so a cut or damaged payload is noticed here and not as a guest that hangs.
  const size = payload.readUInt32LE(payload.length - 4);
  if (kernel.length !== size) throw new Error(`the kernel unpacks to ${kernel.length} bytes, not ${size}`);
  if (kernel.length < 4 || kernel.readUInt32LE(0) !== ELF)
    throw new Error('the kernel inside the bzImage is not an ELF file');
  return kernel;
}

function decompress(payload: Buffer): Uint8Array {
  const packed = payload.subarray(0, payload.length - 4);
  const magic = payload.readUInt32BE(0);
  if (magic === 0x02214c18) return decompressLz4Legacy(packed, MAX_KERNEL);
  // gzip ends with the size by itself.
  if (magic >>> 16 === 0x1f8b) return gunzipSync(payload, { maxOutputLength: MAX_KERNEL });
  if (magic === 0x28b52ffd) return zstdDecompressSync(packed, { maxOutputLength: MAX_KERNEL });
  throw new Error(
    `the kernel is packed in an unknown way (magic ${magic.toString(16).padStart(8, '0')}); LZ4, gzip and zstd are known`,
  );
}
