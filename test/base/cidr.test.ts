import { describe, expect, test } from "bun:test";
import { BlockList } from "node:net";
import fc from "fast-check";
import { contains, embedded, isPublic, parseCidr } from "../../src/base/cidr.ts";

const v4 = fc.ipV4();
const v6 = fc.ipV6();
const range = (text: string) => {
  const parsed = parseCidr(text);
  if (!parsed) throw new Error(`${text} was not read`);
  return parsed;
};
/** An address that is in the range about half of the time: the range's own with some low bits changed. */
const near = fc
  .record({
    first: v4,
    prefix: fc.integer({ min: 0, max: 32 }),
    flip: fc.integer({ min: 0, max: 31 }),
    other: v4,
  })
  .map(({ first, prefix, flip, other }) => {
    const bits = first.split(".").reduce((value, part) => value * 256 + Number(part), 0) ^ (1 << flip);
    const flipped = [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
    return { text: `${first}/${prefix}`, first, prefix, addresses: [first, flipped, other] };
  });

describe("ranges", () => {
  test("match the same IPv4 addresses as Node's BlockList", () => {
    fc.assert(
      fc.property(near, ({ text, first, prefix, addresses }) => {
        const list = new BlockList();
        list.addSubnet(first, prefix, "ipv4");
        for (const address of addresses) {
          expect(contains(range(text), address)).toBe(list.check(address, "ipv4"));
          expect(contains(range(text), `::ffff:${address}`)).toBe(list.check(address, "ipv4"));
        }
      }),
    );
  });

  test("match the same IPv6 addresses as Node's BlockList", () => {
    fc.assert(
      fc.property(v6, v6, fc.integer({ min: 0, max: 128 }), (first, other, prefix) => {
        const list = new BlockList();
        list.addSubnet(first, prefix, "ipv6");
        // Node counts IPv4-mapped addresses as part of IPv6 ranges; here, they are IPv4.
        for (const address of [first, other].filter((text) => !/^(0*:)*:?ffff:/i.test(text))) {
          expect(contains(range(`${first}/${prefix}`), address)).toBe(list.check(address, "ipv6"));
        }
      }),
    );
  });

  test("match an address in every notation", () => {
    for (const text of ["2001:db8::1", "2001:DB8:0:0:0:0:0:1", "2001:0db8::0001", "2001:db8::0.0.0.1"]) {
      expect(contains(range("2001:db8::1"), text)).toBe(true);
    }
    for (const text of ["::ffff:1.2.3.4", "::ffff:102:304", "0:0:0:0:0:FFFF:0102:0304", "1.2.3.4"]) {
      expect(contains(range("1.2.3.4"), text)).toBe(true);
      expect(contains(range("::ffff:1.2.3.4"), text)).toBe(true);
      expect(contains(range("::ffff:1.2.3.0/120"), text)).toBe(true);
      expect(contains(range("1.2.3.99/24"), text)).toBe(true);
    }
  });

  test("of one family match nothing of the other", () => {
    expect(contains(range("0.0.0.0/0"), "::1")).toBe(false);
    expect(contains(range("0.0.0.0/0"), "2001:db8::1")).toBe(false);
    expect(contains(range("::/0"), "1.2.3.4")).toBe(false);
    expect(contains(range("::/0"), "::ffff:1.2.3.4")).toBe(false);
  });

  test("match no text that isn't an address", () => {
    for (const text of [
      "",
      "localhost",
      "1.2.3",
      "0x7f.1",
      "01.2.3.4",
      "fe80::1%eth0",
      "1.2.3.4:80",
      "[::1]",
    ]) {
      expect(contains(range("0.0.0.0/0"), text)).toBe(false);
      expect(contains(range("::/0"), text)).toBe(false);
    }
  });

  test("are null if they are invalid", () => {
    const bad =
      "|/|/8|1.2.3.4/|1.2.3.4/33|1.2.3.4/-1|1.2.3.4/08|1.2.3.4/8/8|1.2.3|1.2.3.256|10.0.0.0/a|::/129|:::|::1%lo|[::1]|a.b|1.2.3.4 /8";
    for (const text of bad.split("|")) expect(parseCidr(text)).toBeNull();
  });

  test("never make the parser throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0123456789abcf:./% []") }), (text) => {
        parseCidr(text);
        expect(typeof isPublic(text)).toBe("boolean");
      }),
    );
  });
});

describe("the public internet", () => {
  test("contains ordinary addresses", () => {
    for (const address of [
      "1.1.1.1",
      "8.8.8.8",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "172.15.255.255",
    ]) {
      expect(isPublic(address)).toBe(true);
      expect(isPublic(`::ffff:${address}`)).toBe(true);
    }
    for (const address of ["172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"]) {
      expect(isPublic(address)).toBe(true);
    }
    for (const address of ["2606:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2003::1"]) {
      expect(isPublic(address)).toBe(true);
    }
  });

  const refused4 =
    "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16 " +
    "169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 " +
    "198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255";
  const hex = (address: string) => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  };

  test.each(refused4.split(" "))("doesn't contain %s, in any form of IPv6 either", (address) => {
    const forms = [`::ffff:${address}`, `::ffff:${hex(address)}`, `::${address}`, `64:ff9b::${address}`];
    const tunnels = [`2002:${hex(address)}::1`, `2001:0:${hex(address)}::1`, `64:ff9b:1::${address}`];
    for (const form of [address, ...forms, ...tunnels]) expect(isPublic(form)).toBe(false);
  });

  test.each(
    "::|::1|fc00::1|fd00:ec2::254|fe80::1|fe80::1%eth0|fec0::1|ff02::1|100::1|2001:db8::1|2001:2::1|2001:10::1|3fff::1|5f00::1|64:ff9b::808:808|2002:808:808::1|2001:0:808:808::1|4000::1|::ffff:0:8.8.8.8".split(
      "|",
    ),
  )("doesn't contain %s", (address) => {
    expect(isPublic(address)).toBe(false);
  });

  test("never contains a mapped address without its IPv4 address", () => {
    fc.assert(fc.property(v4, (address) => expect(isPublic(`::ffff:${address}`)).toBe(isPublic(address))));
  });

  test("contains nothing in IPv6 outside 2000::/3 except the forms of IPv4", () => {
    fc.assert(
      fc.property(v6, (address) => {
        if (isPublic(address) && embedded(address).length === 0 && !contains(range("0.0.0.0/0"), address)) {
          expect(contains(range("2000::/3"), address)).toBe(true);
        }
      }),
    );
  });
});

test("IPv4 addresses inside tunnel addresses are found", () => {
  expect(embedded("64:ff9b::10.1.2.3")).toEqual(["10.1.2.3"]);
  expect(embedded("2002:a01:203::5")).toEqual(["10.1.2.3"]);
  expect(embedded("::10.1.2.3")).toEqual(["10.1.2.3"]);
  // The example of RFC 4380: the client's address is stored inverted.
  expect(embedded("2001:0:4136:e378:8000:63bf:3fff:fdd2")).toEqual(["65.54.227.120", "192.0.2.45"]);
  expect(embedded("2606:4700::1111")).toEqual([]);
  expect(embedded("::ffff:10.1.2.3")).toEqual([]);
});
