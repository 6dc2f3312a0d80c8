import type { Environment } from '@marcbachmann/cel-js';
import { type Charge, chargeText } from './charge.ts';
import { Cidr, IpAddress, parseCidr, parseIp } from './net-address.ts';

class IpNamespace {}

const IP = 'net.IP';
const CIDR = 'net.CIDR';

function ipOf(text: string): IpAddress {
  const address = parseIp(text);
  if (address === undefined)
    throw new Error(`IP Address ${JSON.stringify(text)} parse error during conversion from string`);
  return address;
}

function cidrOf(text: string): Cidr {
  const network = parseCidr(text);
  if (network === undefined) {
    throw new Error(`network address parse error during conversion from string: ${JSON.stringify(text)} is no CIDR`);
  }
  return network;
}

const [LOOPBACK_4, LOOPBACK_6] = [ipOf('127.0.0.0'), ipOf('::1')];
const [MULTICAST_4, MULTICAST_6] = [ipOf('224.0.0.0'), ipOf('ff00::')];
const [LINK_LOCAL_4, LINK_LOCAL_6] = [ipOf('169.254.0.0'), ipOf('fe80::')];
const BROADCAST = ipOf('255.255.255.255');

const isUnspecified = (ip: IpAddress) => ip.value === 0n;
const isLoopback = (ip: IpAddress) => ip.startsWith(LOOPBACK_4, 8) || ip.startsWith(LOOPBACK_6, 128);
const isMulticast = (ip: IpAddress) => ip.startsWith(MULTICAST_4, 4) || ip.startsWith(MULTICAST_6, 8);
const isLinkLocalUnicast = (ip: IpAddress) => ip.startsWith(LINK_LOCAL_4, 16) || ip.startsWith(LINK_LOCAL_6, 10);
/** Of IPv6 multicast, the scope is in the fourth digit, and 2 is the link. */
const isLinkLocalMulticast = (ip: IpAddress) =>
  ip.family === 4 ? ip.startsWith(MULTICAST_4, 24) : ((ip.value >> 112n) & 0xff0fn) === 0xff02n;
const isGlobalUnicast = (ip: IpAddress) =>
  !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip) && !isSame(ip, BROADCAST);

const isSame = (a: IpAddress, b: IpAddress) => a.family === b.family && a.value === b.value;
const isSameNet = (a: Cidr, b: Cidr) => a.bits === b.bits && isSame(a.address, b.address);
const contains = (outer: Cidr, inner: Cidr) => outer.bits <= inner.bits && outer.contains(inner.address);

/** `ip`, `cidr` and what can be asked of addresses and networks (k8s.io/apiserver/pkg/cel/library). */
export function registerNet(environment: Environment, charge: Charge): void {
  const read = <T>(parse: (text: string) => T) => {
    return (text: string): T => {
      chargeText(charge, text);
      return parse(text);
    };
  };
  environment
    .registerType(IP, IpAddress)
    .registerType(CIDR, Cidr)
    .registerType('IpNamespace', IpNamespace)
    .registerConstant('ip', 'IpNamespace', new IpNamespace())
    .registerOperator(`${IP} == ${IP}`, isSame)
    .registerOperator(`${CIDR} == ${CIDR}`, isSameNet)
    .registerFunction(`ip(string): ${IP}`, read(ipOf))
    .registerFunction(
      'isIP(string): bool',
      read((text) => parseIp(text) !== undefined),
    )
    .registerFunction(`cidr(string): ${CIDR}`, read(cidrOf))
    .registerFunction(
      'isCIDR(string): bool',
      read((text) => parseCidr(text) !== undefined),
    )
    .registerFunction('IpNamespace.isCanonical(string): bool', (_: IpNamespace, text: string) =>
      read((given: string) => ipOf(given).toString() === given)(text),
    )
    .registerFunction(`string(${IP}): string`, String)
    .registerFunction(`string(${CIDR}): string`, String);
  const asked = { isUnspecified, isLoopback, isLinkLocalMulticast, isLinkLocalUnicast, isGlobalUnicast };
  for (const [name, ask] of Object.entries(asked)) environment.registerFunction(`${IP}.${name}(): bool`, ask);
  environment
    .registerFunction(`${IP}.family(): int`, (address: IpAddress) => BigInt(address.family))
    .registerFunction(`${CIDR}.containsIP(${IP}): bool`, (net: Cidr, address: IpAddress) => net.contains(address))
    .registerFunction(`${CIDR}.containsIP(string): bool`, (net: Cidr, text: string) => net.contains(read(ipOf)(text)))
    .registerFunction(`${CIDR}.containsCIDR(${CIDR}): bool`, contains)
    .registerFunction(`${CIDR}.containsCIDR(string): bool`, (net: Cidr, text: string) =>
      contains(net, read(cidrOf)(text)),
    )
    .registerFunction(`${CIDR}.ip(): ${IP}`, (net: Cidr) => net.address)
    .registerFunction(`${CIDR}.masked(): ${CIDR}`, (net: Cidr) => net.masked())
    .registerFunction(`${CIDR}.prefixLength(): int`, (net: Cidr) => BigInt(net.bits));
}
