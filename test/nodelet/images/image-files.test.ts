import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type CpioEntry, cpio } from '../../../nodelet/images/cpio.ts';
import { extractVmlinux } from '../../../nodelet/images/extract-vmlinux.ts';
import { ImageDigests } from '../../../nodelet/images/image-digest.ts';
import { moduleDependencies, modulesInLoadOrder } from '../../../nodelet/images/kernel-modules.ts';
import { decompressLz4Legacy } from '../../../nodelet/images/lz4-legacy.ts';

const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
};

/** An LZ4 run length: the nibble, and the bytes that follow when it is full. */
function run(length: number): { nibble: number; more: Buffer } {
  if (length < 15) return { nibble: length, more: Buffer.alloc(0) };
  const rest = length - 15;
  return { nibble: 15, more: Buffer.of(...Array<number>(Math.floor(rest / 255)).fill(255), rest % 255) };
}

interface Sequence {
  readonly literals: Uint8Array;
  /** Copy from this far back, this many (at least 4); none in the last sequence. */
  readonly match?: { readonly distance: number; readonly length: number };
}

function lz4Block(sequences: readonly Sequence[]): Buffer {
  return Buffer.concat(
    sequences.flatMap(({ literals, match }) => {
      const plain = run(literals.length);
      const copy = match === undefined ? run(0) : run(match.length - 4);
      const distance = match === undefined ? Buffer.alloc(0) : Buffer.of(match.distance & 255, match.distance >> 8);
      return [
        Buffer.of((plain.nibble << 4) | copy.nibble),
        plain.more,
        literals,
        distance,
        match === undefined ? Buffer.alloc(0) : copy.more,
      ];
    }),
  );
}

function unpacked(sequences: readonly Sequence[]): number[] {
  const out: number[] = [];
  for (const { literals, match } of sequences) {
    out.push(...literals);
    for (let i = 0; match !== undefined && i < match.length; i++) out.push(out[out.length - match.distance] ?? -1);
  }
  return out;
}

const lz4 = (...blocks: readonly Uint8Array[]) =>
  Buffer.concat([u32(0x184c2102), ...blocks.flatMap((b) => [u32(b.length), b])]);

function bzImage(payload: Uint8Array): Buffer {
  const image = Buffer.alloc(3 * 512);
  image.writeUInt8(1, 0x1f1);
  image.write('HdrS', 0x202);
  image.writeUInt32LE(512, 0x248);
  image.writeUInt32LE(payload.length, 0x24c);
  return Buffer.concat([image, payload, Buffer.alloc(100)]);
}

describe('LZ4 legacy data', () => {
  it('unpacks literals and matches, overlapping ones included, over several blocks', () => {
    const sequence = fc
      .record({
        literals: fc.uint8Array({ minLength: 1, maxLength: 600 }),
        back: fc.nat(),
        length: fc.integer({ min: 4, max: 600 }),
      })
      .map(({ literals, back, length }) => ({ literals, match: { distance: (back % literals.length) + 1, length } }));
    const block = fc
      .tuple(fc.array(sequence, { maxLength: 6 }), fc.uint8Array({ maxLength: 40 }))
      .map(([all, literals]) => [...all, { literals }]);
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 4 }), (blocks) => {
        const got = decompressLz4Legacy(lz4(...blocks.map(lz4Block)), 1 << 20);
        assert.deepEqual([...got], blocks.flatMap(unpacked));
      }),
    );
  });

  it('throws at damage and never reads or writes out of bounds', () => {
    const good = lz4Block([
      { literals: Buffer.from('abcd'), match: { distance: 4, length: 8 } },
      { literals: Buffer.from('x') },
    ]);
    for (let at = 1; at < good.length - 1; at++) {
      const cut = lz4(good.subarray(0, at));
      try {
        assert.ok(decompressLz4Legacy(cut, 1000).length < 13);
      } catch (error) {
        assert.match(String(error), /damaged LZ4/);
      }
    }
    assert.throws(() => decompressLz4Legacy(lz4(Buffer.of(0x14, 1, 9, 0)), 1000), /match out of bounds/);
    assert.throws(() => decompressLz4Legacy(lz4(good).subarray(0, 12), 1000), /damaged/);
    assert.throws(() => decompressLz4Legacy(lz4(good), 5), /more than 5/);
    assert.throws(() => decompressLz4Legacy(Buffer.from('nonsense'), 1000), /not in LZ4/);
  });
});

describe('the kernel in a bzImage', () => {
  const kernel = Buffer.concat([Buffer.from('\x7fELF'), Buffer.alloc(5000, 7)]);
  const packed = lz4Block([{ literals: kernel.subarray(0, 10), match: { distance: 1, length: kernel.length - 10 } }]);

  it('is found, whether packed with LZ4 or gzip', () => {
    assert.ok(Buffer.from(extractVmlinux(bzImage(Buffer.concat([lz4(packed), u32(kernel.length)])))).equals(kernel));
    assert.ok(Buffer.from(extractVmlinux(bzImage(gzipSync(kernel)))).equals(kernel));
  });

  it('is refused when it is another kind of file, cut, damaged or no ELF', () => {
    assert.throws(() => extractVmlinux(Buffer.from('MZ')), /not an x86 bzImage/);
    assert.throws(() => extractVmlinux(bzImage(Buffer.concat([lz4(packed), u32(9)]))), /unpacks to 5004 bytes, not 9/);
    assert.throws(() => extractVmlinux(bzImage(Buffer.from('unknown packing'))), /unknown way/);
    assert.throws(() => extractVmlinux(bzImage(gzipSync(Buffer.from('no elf')))), /not an ELF/);
    assert.throws(() => extractVmlinux(bzImage(lz4(packed)).subarray(0, 1540)), /not in the file/);
  });
});

describe('a cpio archive', () => {
  const entries: readonly CpioEntry[] = [
    { kind: 'directory', path: 'd', permissions: 0o755 },
    { kind: 'file', path: 'd/f', permissions: 0o644, bytes: Buffer.from('hello') },
    { kind: 'link', path: 'l', permissions: 0o777, target: 'd/f' },
    { kind: 'character device', path: 'c', permissions: 0o600, major: 5, minor: 1 },
  ];

  it('holds root’s files without times, sorted, whatever the order given', () => {
    const bytes = Buffer.from(cpio(entries));
    assert.deepEqual(bytes, Buffer.from(cpio(entries.toReversed())));
    assert.equal(bytes.length % 4, 0);
    const field = (name: string, index: number) => {
      const header = bytes.lastIndexOf('070701', bytes.indexOf(`${name}\0`));
      return Number.parseInt(bytes.toString('latin1', header + 6 + index * 8, header + 14 + index * 8), 16);
    };
    assert.deepEqual(
      [1, 2, 3, 5, 6].map((i) => field('d/f', i)),
      [0o100644, 0, 0, 0, 5],
    );
    assert.deepEqual(
      [1, 9, 10].map((i) => field('c', i)),
      [0o020600, 5, 1],
    );
    const order = ['c\0', 'd\0', 'd/f\0', 'l\0', 'TRAILER!!!\0'].map((name) => bytes.indexOf(name));
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    );
  });

  it('refuses what the kernel would not unpack', () => {
    const file = (path: string): CpioEntry => ({ kind: 'file', path, permissions: 0o644, bytes: Buffer.alloc(0) });
    assert.throws(() => cpio([file('/abs')]), /not a path/);
    assert.throws(() => cpio([file('a'), file('a')]), /twice/);
    assert.throws(() => cpio([file('no/folder')]), /in no folder/);
  });
});

describe('kernel modules', () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'cpm-'));
  });
  after(() => rm(dir, { recursive: true }));

  it('come after what they depend on, each once, built-in ones left out', async () => {
    const write = (name: string, depends: string) =>
      writeFile(join(dir, name), `\x7fELF\0license=GPL\0depends=${depends}\0retpoline=Y\0`);
    await write('virtio-net.ko', 'net_failover,virtio,virtio_ring');
    await write('net_failover.ko', 'failover');
    await write('failover.ko', '');
    await write('virtio_ring.ko', '');
    await write('virtio.ko', 'virtio_ring');
    const run = async () => 'missing' as const;
    const order = await modulesInLoadOrder(
      { modulesDir: dir, wanted: ['virtio_net', 'ext4', 'virtio'], run },
      new AbortController().signal,
    );
    assert.deepEqual(
      order.map((m) => m.name),
      ['failover', 'net_failover', 'virtio_ring', 'virtio', 'virtio_net'],
    );
  });

  it('tell what they depend on', () => {
    assert.deepEqual(moduleDependencies(Buffer.from('x\0depends=a,b\0')), ['a', 'b']);
    assert.deepEqual(moduleDependencies(Buffer.from('x\0depends=\0')), []);
    assert.throws(() => moduleDependencies(Buffer.from('x\0depends=a')), /cut short/);
  });
});

describe('an image’s digest', () => {
  let dir: string;
  const never = new AbortController().signal;
  const manifest = {
    schema: 1,
    name: 'i',
    guestOS: 'linux',
    kernel: 'k',
    initrd: 'r',
    agent: true,
    kernelArguments: '',
    kernelVersion: '1',
  };
  const write = (fields: object) =>
    writeFile(join(dir, 'image.json'), JSON.stringify({ ...manifest, packages: {}, ...fields }));
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'cpd-'));
    await write({});
    await writeFile(join(dir, 'k'), 'kernel');
    await writeFile(join(dir, 'r'), 'initrd');
  });
  afterEach(() => rm(dir, { recursive: true }));

  it('changes with any file and any name, and sees a file replaced by one of equal size', async () => {
    const digests = new ImageDigests();
    const first = await digests.facts(dir, never);
    assert.deepEqual(await new ImageDigests().facts(dir, never), first);
    await writeFile(join(dir, 'new'), 'KERNEL');
    await rename(join(dir, 'new'), join(dir, 'k'));
    const second = await digests.facts(dir, never);
    assert.equal(second?.sizeBytes, first?.sizeBytes);
    await write({ name: 'j' });
    const third = await digests.facts(dir, never);
    assert.equal(new Set([first?.digest, second?.digest, third?.digest]).size, 3);
  });

  it('is absent without an image, and an error when a file is missing or outside', async () => {
    assert.equal(await new ImageDigests().facts(join(dir, 'none'), never), undefined);
    await rm(join(dir, 'k'));
    await assert.rejects(new ImageDigests().facts(dir, never), { code: 'ENOENT' });
    await write({ kernel: '../k' });
    await assert.rejects(new ImageDigests().facts(dir, never), /not a plain file name/);
  });
});
