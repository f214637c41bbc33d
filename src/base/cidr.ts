import { isIP } from "node:net";

/** A range of addresses. A single address is a range of one. */
export interface Cidr {
  readonly family: 4 | 6;
  /** Number of bits that are the same in the whole range. */
  readonly prefix: number;
  /** The lowest address of the range. */
  readonly first: bigint;
}

const WIDTH = { 4: 32, 6: 128 } as const;

/**
 * Parses `10.0.0.0/8`, `fd00::/8` or a single address. Null for anything else.
 *
 * Ignores bits beyond the prefix. A range of IPv4-mapped addresses becomes the IPv4 range.
 */
export function parseCidr(text: string): Cidr | null {
  const match = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text.trim());
  const address = parseAddress(match?.[1] ?? "");
  if (!address) return null;
  const written = isIP(match?.[1] ?? "") === 6 ? 6 : 4;
  let prefix = match?.[2] === undefined ? WIDTH[written] : Number(match[2]);
  if (prefix > WIDTH[written]) return null;
  if (written === 6 && address.family === 4) {
    if (prefix < 96) return block(6, MAPPED | address.first, prefix);
    prefix -= 96;
  }
  return block(address.family, address.first, prefix);
}

/** Returns whether `address` is in `range`. An IPv4-mapped address (`::ffff:1.2.3.4`) counts as the IPv4 one. */
export function contains(range: Cidr, address: string): boolean {
  const found = parseAddress(address);
  return found !== null && within(range, found);
}

/**
 * Returns what attempts are counted by: the address itself, or the /64 of an IPv6 one,
 * since one connection has a whole /64. Text that isn't an address is returned unchanged.
 */
export function sourceOf(address: string): string {
  const found = parseAddress(address);
  return found?.family === 6 ? `${(found.first >> 64n).toString(16)}::/64` : address;
}

/**
 * Returns whether `address` is on the public internet. False for text that isn't a valid address.
 *
 * The list follows the IANA special-purpose registries. IPv4-mapped and IPv4-compatible addresses are judged by the
 * IPv4 address in them. NAT64, 6to4 and Teredo are never public, whatever they contain.
 */
export function isPublic(address: string): boolean {
  const found = parseAddress(address);
  if (!found) return false;
  if (found.family === 4) return !DENIED_4.some((range) => within(range, found));
  if (within(COMPATIBLE, found)) return embedded(address).some(isPublic);
  return within(GLOBAL_UNICAST, found) && !DENIED_6.some((range) => within(range, found));
}

/** Returns the IPv4 addresses in an IPv6 address: IPv4-compatible, NAT64, 6to4, and Teredo's server and client. */
export function embedded(address: string): string[] {
  const found = parseAddress(address);
  if (found?.family !== 6) return [];
  // :: and ::1 aren't IPv4-compatible addresses.
  if (within(NAT64, found) || (within(COMPATIBLE, found) && found.first > 1n)) return [dotted(found.first)];
  if (within(SIX_TO_FOUR, found)) return [dotted(found.first >> 80n)];
  if (within(TEREDO, found)) return [dotted(found.first >> 64n), dotted(~found.first)];
  return [];
}

/** Parses one address, IPv4-mapped ones as IPv4. Null for other text, and for an address with a zone. */
function parseAddress(text: string): Cidr | null {
  const family = text.includes("%") ? 0 : isIP(text);
  if (family === 4) return block(4, dottedValue(text), 32);
  if (family !== 6) return null;
  const value = groupsValue(text);
  return value >> 32n === MAPPED >> 32n ? block(4, value & 0xffff_ffffn, 32) : block(6, value, 128);
}

function block(family: 4 | 6, value: bigint, prefix: number): Cidr {
  const rest = BigInt(WIDTH[family] - prefix);
  return { family, prefix, first: (value >> rest) << rest };
}

function within(range: Cidr, address: Cidr): boolean {
  const rest = BigInt(WIDTH[range.family] - range.prefix);
  return range.family === address.family && address.first >> rest === range.first >> rest;
}

const dottedValue = (text: string): bigint =>
  text.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);

const dotted = (value: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");

function groupsValue(text: string): bigint {
  const tail = text.slice(text.lastIndexOf(":") + 1);
  const plain = tail.includes(".")
    ? text.slice(0, -tail.length) +
      [dottedValue(tail) >> 16n, dottedValue(tail) & 0xffffn].map((group) => group.toString(16)).join(":")
    : text;
  const [head = [], rest = []] = plain.split("::").map((side) => (side === "" ? [] : side.split(":")));
  const zeros: string[] = new Array(8 - head.length - rest.length).fill("0");
  return [...head, ...zeros, ...rest].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

const MAPPED = 0xffff_0000_0000n;
const COMPATIBLE = block(6, 0n, 96);
const NAT64 = block(6, groupsValue("64:ff9b::"), 96);
const SIX_TO_FOUR = block(6, groupsValue("2002::"), 16);
const TEREDO = block(6, groupsValue("2001::"), 32);
/** The only allocated range. ULA, link-local, multicast, 64:ff9b::/16, 100::/64 and 5f00::/16 are outside it. */
const GLOBAL_UNICAST = block(6, groupsValue("2000::"), 3);

const DENIED_4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's WireServer: looks public, but is reachable only from inside a machine
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
].map(([first, prefix]) => block(4, dottedValue(String(first)), Number(prefix)));

const DENIED_6 = [
  block(6, groupsValue("2001::"), 23), // Teredo, benchmarking, ORCHID and other protocol assignments
  block(6, groupsValue("2001:db8::"), 32),
  SIX_TO_FOUR,
  block(6, groupsValue("3fff::"), 20),
];
