import { isFormat } from '../string-formats.ts';

/** An IP address (Go's net/netip): of four or sixteen bytes. */
export class IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;

  constructor(family: 4 | 6, value: bigint) {
    this.family = family;
    this.value = value;
  }

  /** The one canonical text (RFC 5952). */
  toString(): string {
    return this.family === 4 ? shown4(this.value) : shown6(this.value);
  }

  /** Whether its first bits are those of another address of the same family. */
  startsWith(prefix: IpAddress, bits: number): boolean {
    const rest = BigInt(bitsOf(this.family) - bits);
    return this.family === prefix.family && this.value >> rest === prefix.value >> rest;
  }
}

/** A network: an address and how many of its bits are the network's. */
export class Cidr {
  readonly address: IpAddress;
  readonly bits: number;

  constructor(address: IpAddress, bits: number) {
    this.address = address;
    this.bits = bits;
  }

  toString(): string {
    return `${this.address.toString()}/${this.bits}`;
  }

  contains(address: IpAddress): boolean {
    return address.startsWith(this.address, this.bits);
  }

  /** The network without the bits of hosts. */
  masked(): Cidr {
    const { family, value } = this.address;
    const rest = BigInt(bitsOf(family) - this.bits);
    return new Cidr(new IpAddress(family, (value >> rest) << rest), this.bits);
  }
}

const bitsOf = (family: 4 | 6): number => (family === 4 ? 32 : 128);

/** Undefined for a text that is no address, has a zone, or is an IPv4 address dressed as an IPv6 one. */
export function parseIp(text: string): IpAddress | undefined {
  if (isFormat('ipv4', text)) return new IpAddress(4, value4(text));
  if (!isFormat('ipv6', text)) return undefined;
  const address = new IpAddress(6, value6(text));
  return address.value >> 32n === 0xffffn ? undefined : address;
}

/** Undefined for a text that is no network. Bits of hosts may be set. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.lastIndexOf('/');
  const length = text.slice(slash + 1);
  if (slash < 0 || !/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const address = parseIp(text.slice(0, slash));
  const bits = Number(length);
  return address === undefined || bits > bitsOf(address.family) ? undefined : new Cidr(address, bits);
}

const value4 = (text: string): bigint => text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);

function value6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const gap: bigint[] = Array(8 - before.length - after.length).fill(0n);
  return [...before, ...gap, ...after].reduce((sum, group) => (sum << 16n) | group, 0n);
}

function groupsOf(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const four = value4(group);
    return [four >> 16n, four & 0xffffn];
  });
}

const shown4 = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');

function shown6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(16 * (7 - i))) & 0xffffn));
  const [start, length] = longestGap(groups);
  const hex = groups.map((group) => group.toString(16));
  if (length < 2) return hex.join(':');
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}

/** Where the first of the longest runs of zeros begins, and how long it is. */
function longestGap(groups: readonly number[]): readonly [number, number] {
  let best: readonly [number, number] = [0, 0];
  let length = 0;
  for (const [i, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length > best[1]) best = [i - length + 1, length];
  }
  return best;
}
