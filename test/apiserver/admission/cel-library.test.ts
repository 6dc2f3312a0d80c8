import assert from 'node:assert/strict';
import type { Schema } from '../../../resources/meta/schema.ts';
import { compileRules } from './compile-rules.ts';

const ANY: Schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    at: { type: 'string', format: 'date-time' },
    ttl: { type: 'string', format: 'duration' },
    texts: { type: 'array', items: { type: 'string' } },
    counts: { type: 'array', items: { type: 'integer' } },
    ratios: { type: 'array', items: { type: 'number' } },
    times: { type: 'array', items: { type: 'string', format: 'date-time' } },
    spans: { type: 'array', items: { type: 'string', format: 'duration' } },
    things: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
  },
};

const SPEC = {
  text: 'x',
  count: 3,
  at: '2026-01-02T03:04:05Z',
  ttl: '90m',
  texts: ['b', 'a', 'b'],
  counts: [1, 2, 2, 3],
  ratios: [0.5, 0.25],
  times: ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  spans: ['1m', '1s'],
  things: [{ n: 1 }, { n: 2 }],
};

function said(rule: string): string[] {
  const check = compileRules({
    type: 'object',
    properties: { spec: { ...ANY, 'x-kubernetes-validations': [{ rule, message: 'does not hold' }] } },
  });
  return (check?.({ spec: SPEC }) ?? []).map(({ message }) => message.replace('Invalid value: "object": ', ''));
}

const HOLD: Readonly<Record<string, readonly string[]>> = {
  quantity: [
    'isQuantity("1.3G") && isQuantity("1.3Gi") && isQuantity("10000k") && isQuantity("+1.5e3") && isQuantity("1E")',
    '["1,3G", "200K", "Three", "Mi", "", ".", "1 G", "1e", "--1"].all(q, !isQuantity(q))',
    'quantity("50000000G").isInteger() && quantity("50k").isInteger() && !quantity("500m").isInteger()',
    '!quantity("9999999999999999999999999999999999999G").isInteger()',
    'quantity("50k").asInteger() == 50000',
    'quantity("50k").sub(20000).asApproximateFloat() == 30000.0',
    'quantity("50k").add(quantity("20k")) == quantity("70k")',
    'quantity("50k").add(20) == quantity("50020")',
    'quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")',
    'quantity("200M").compareTo(quantity("0.2G")) == 0 && quantity("50M").compareTo(quantity("50Mi")) == -1',
    'quantity("50Mi").compareTo(quantity("50M")) == 1',
    'quantity("150Mi").isGreaterThan(quantity("100Mi")) && !quantity("50Mi").isGreaterThan(quantity("100Mi"))',
    'quantity("50M").isLessThan(quantity("100M")) && !quantity("100M").isLessThan(quantity("50M"))',
    'quantity("-3").sign() == -1 && quantity("0").sign() == 0 && quantity("1n").sign() == 1',
    'quantity("0.1n") == quantity("1n") && quantity("1e999999999").isGreaterThan(quantity("1E"))',
    'quantity("1k") != quantity("1Ki")',
  ],
  url: [
    'isURL("https://user:pass@example.com:80/path?query=val#fragment") && isURL("/absolute-path") && isURL("mailto:a@b")',
    '["https://a:b:c/", "../relative-path", "", "x", "https://a b/", "http://a/%zz", "http://[::1", "a\\nb"].all(u, !isURL(u))',
    'url("/path").getScheme() == "" && url("https://example.com/").getScheme() == "https"',
    'url("https://example.com:80/").getHost() == "example.com:80" && url("https://example.com/").getHost() == "example.com"',
    'url("https://[::1]:80/").getHost() == "[::1]:80" && url("https://[::1]/").getHost() == "[::1]"',
    'url("/path").getHost() == "" && url("/path").getHostname() == "" && url("/path").getPort() == ""',
    'url("https://example.com:80/").getHostname() == "example.com" && url("https://127.0.0.1:80/").getHostname() == "127.0.0.1"',
    'url("https://[::1]:80/").getHostname() == "::1" && url("https://u@[::1]/").getHostname() == "::1"',
    'url("https://example.com:80/").getPort() == "80" && url("https://example.com/").getPort() == ""',
    'url("https://example.com/path").getEscapedPath() == "/path" && url("https://example.com").getEscapedPath() == ""',
    'url("https://example.com/path with spaces/").getEscapedPath() == "/path%20with%20spaces/"',
    'url("https://example.com/path?k1=a&k2=b&k2=c").getQuery() == {"k1": ["a"], "k2": ["b", "c"]}',
    'url("https://example.com/path?key with spaces=value with spaces").getQuery() == {"key with spaces": ["value with spaces"]}',
    'url("https://example.com/path?").getQuery() == {} && url("https://example.com/path#f").getQuery() == {}',
    'url("https://a/b?c=d") == url("https://a/b?c=d") && url("https://a/b") != url("https://a/c")',
  ],
  ip: [
    'isIP("127.0.0.1") && isIP("::1") && isIP("::")',
    '["127.0.0.256", ":::1", "127.0.0.01", "::ffff:1.2.3.4", "fe80::1%eth0", "", "1::2::3"].all(i, !isIP(i))',
    'ip.isCanonical("127.0.0.1") && ip.isCanonical("2001:db8::abcd")',
    '!ip.isCanonical("2001:DB8::ABCD") && !ip.isCanonical("2001:db8::0:0:0:abcd")',
    'ip("127.0.0.1").family() == 4 && ip("::1").family() == 6',
    'ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified() && !ip("::1").isUnspecified()',
    'ip("127.0.0.1").isLoopback() && ip("::1").isLoopback() && !ip("192.168.0.1").isLoopback() && !ip("2001:db8::abcd").isLoopback()',
    'ip("224.0.0.1").isLinkLocalMulticast() && !ip("224.0.1.1").isLinkLocalMulticast()',
    'ip("ff02::1").isLinkLocalMulticast() && !ip("fd00::1").isLinkLocalMulticast()',
    'ip("169.254.169.254").isLinkLocalUnicast() && !ip("192.168.0.1").isLinkLocalUnicast()',
    'ip("fe80::1").isLinkLocalUnicast() && !ip("fd80::1").isLinkLocalUnicast()',
    'ip("192.168.0.1").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast()',
    'ip("2001:db8::abcd").isGlobalUnicast() && !ip("ff00::1").isGlobalUnicast()',
    'string(ip("2001:DB8:0:0:0:0:0:1")) == "2001:db8::1" && ip("::1") == ip("0:0:0:0:0:0:0:1") && ip("::1") != ip("::2")',
    '["10.0.0.1"].all(ip, ip.startsWith("10."))',
  ],
  cidr: [
    'isCIDR("192.168.0.0/16") && isCIDR("::1/128") && !isCIDR("192.168.0.0/33") && !isCIDR("::1/129") && !isCIDR("10.0.0.0/08")',
    'cidr("192.168.0.0/24").containsIP(ip("192.168.0.1")) && !cidr("192.168.0.0/24").containsIP(ip("192.168.1.1"))',
    'cidr("192.168.0.0/24").containsIP("192.168.0.1") && !cidr("192.168.0.0/24").containsIP("::1")',
    'cidr("192.168.0.0/16").containsCIDR(cidr("192.168.10.0/24")) && !cidr("192.168.1.0/24").containsCIDR(cidr("192.168.2.0/24"))',
    'cidr("192.168.0.0/16").containsCIDR("192.168.10.0/24") && !cidr("192.168.10.0/24").containsCIDR("192.168.0.0/16")',
    'cidr("192.168.0.1/24").ip() == ip("192.168.0.1") && cidr("::1/128").ip().family() == 6',
    'cidr("192.168.0.1/24").masked() == cidr("192.168.0.0/24") && cidr("192.168.0.1/24") != cidr("192.168.0.1/24").masked()',
    'cidr("192.168.0.0/16").prefixLength() == 16 && string(cidr("::1/128")) == "::1/128"',
  ],
  format: [
    'format.dns1123Label().validate("my-label-name").hasValue() == false',
    'format.dns1123Label().validate("My").value().join("; ").contains("RFC 1123 label")',
    'format.dns1123Subdomain().validate("apiextensions.k8s.io") == optional.none()',
    'format.dns1035Label().validate("1a").hasValue() && !format.dns1035Label().validate("a1").hasValue()',
    'format.qualifiedName().validate("a/b/c").hasValue() && !format.qualifiedName().validate("k8s.io/v1").hasValue()',
    '!format.dns1123LabelPrefix().validate("a-").hasValue() && format.dns1123Label().validate("a-").hasValue()',
    '!format.dns1123SubdomainPrefix().validate("a.b-").hasValue() && !format.dns1035LabelPrefix().validate("a-").hasValue()',
    '!format.labelValue().validate("").hasValue() && format.labelValue().validate("-").hasValue()',
    '!format.uri().validate("http://example.com").hasValue() && format.uri().validate("x").hasValue()',
    '!format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue() && format.uuid().validate("1").hasValue()',
    '!format.byte().validate("aGVsbG8=").hasValue() && format.byte().validate("%").hasValue()',
    '!format.date().validate("2021-01-01").hasValue() && format.date().validate("2021-02-30").hasValue()',
    '!format.datetime().validate("2021-01-01T00:00:00Z").hasValue() && format.datetime().validate("2021-01-01").hasValue()',
    'format.named("dns1123Label").value().validate("A").hasValue() && !format.named("nope").hasValue()',
  ],
  lists: [
    '[1, 2, 3].isSorted() && ["a", "b", "b", "c"].isSorted() && ![2.0, 1.0].isSorted() && [].isSorted() && self.times.isSorted()',
    '!self.spans.isSorted() && self.spans.sum() == duration("61s") && self.spans.min() == duration("1s")',
    'self.counts.sum() == 8 && self.ratios.sum() == 0.75 && [].sum() == 0',
    'self.counts.min() == 1 && self.counts.max() == 3 && self.texts.min() == "a" && self.ratios.max() == 0.5',
    'self.times.max() > self.times.min()',
    'self.counts.indexOf(2) == 1 && self.counts.lastIndexOf(2) == 2 && self.texts.lastIndexOf("b") == 2',
    '[1.0].indexOf(1.1) == -1 && self.texts.indexOf("z") == -1 && self.things.indexOf(self.things[1]) == 1',
  ],
  sets: [
    'sets.contains([], []) && sets.contains([1, 2, 3, 4], [2, 3]) && !sets.contains([1], [2])',
    'sets.equivalent([1, 1], [1]) && sets.equivalent([1, 2, 3], [3, 2, 1]) && !sets.equivalent([1], [1, 2])',
    'sets.intersects(self.texts, ["a"]) && !sets.intersects([1], []) && !sets.intersects([1], [2])',
    'sets.contains(self.texts, ["a"]) && sets.contains([{"a": [1]}], [{"a": [1]}])',
  ],
  regex: [
    '"abc 123".find("[0-9]+") == "123" && "abc 123".find("xyz") == ""',
    '"123 abc 456".findAll("[0-9]+") == ["123", "456"] && "123 abc 456".findAll("xyz") == []',
    '"123 abc 456".findAll("[0-9]+", 1) == ["123"] && "1 2".findAll("[0-9]", -1) == ["1", "2"] && "1".findAll("1", 0) == []',
  ],
  strings: [
    '"tacocat".charAt(3) == "o" && "a".charAt(1) == ""',
    '"hello hello".replace("he", "we") == "wello wello" && "hello hello".replace("he", "we", 1) == "wello hello"',
    '"%s has %d at %.2f%% and %s".format(["x", 3, 1.5, [1, "b"]]) == "x has 3 at 1.50% and [1, \\"b\\"]"',
    '"%x %X %o %b %b %e".format([26, 26, 8, 5, true, 1234.5]) == "1a 1A 10 101 1 1.234500e+03"',
    '"%s %s".format([self.at, self.ttl]) == "2026-01-02T03:04:05Z 5400s"',
    'strings.quote("a\\"b") == "\\"a\\\\\\"b\\""',
    'string(self.at) == "2026-01-02T03:04:05Z" && string(self.ttl) == "5400s" && int(timestamp("1970-01-01T00:01:00Z")) == 60',
    '"a,b".split(",").join("-") == "a-b" && duration("1h30m") == self.ttl',
  ],
};

describe('the library of rules', () => {
  for (const [name, rules] of Object.entries(HOLD)) {
    for (const rule of rules) it(`has ${name}: ${rule}`, () => assert.deepEqual(said(rule), []));
  }

  const FAIL: readonly [string, RegExp][] = [
    ['quantity("Mi").sign() == 1', /quantities must match/],
    ['quantity("500m").asInteger() == 1', /cannot convert value to integer/],
    ['url("../x").getHost() == ""', /URL parse error/],
    ['ip("1.2.3").family() == 4', /IP Address "1.2.3" parse error/],
    ['cidr("1.2.3.4").prefixLength() == 4', /network address parse error/],
    ['[0].filter(x, x > 1).min() == 0', /min called on empty list/],
    ['[9223372036854775807, 1].sum() == 0', /integer overflow/],
    ['"%d".format(["x"]) == ""', /integers only/],
    ['"%s".format([]) == ""', /out of range/],
    ['"abc".charAt(9) == ""', /out of range/],
    [`duration("${'1'.repeat(60_000)}") == duration("1s")`, /too long/],
  ];
  for (const [rule, why] of FAIL) {
    it(`fails an object of which it cannot tell: ${rule.slice(0, 60)}`, () => {
      assert.match(said(rule)[0] ?? '', why);
    });
  }

  const REFUSED = [
    'quantity(3).sign() == 1',
    'quantity("1") == "1"',
    'self.things.isSorted()',
    'self.counts.indexOf("a") == 1',
    'url("/").getNothing() == ""',
    'format.nope().validate("x").hasValue()',
    'sets.contains([1], "a")',
    'self.text.findAll(1) == []',
  ];
  for (const rule of REFUSED) {
    it(`refuses to compile ${rule}`, () => assert.throws(() => compileRules(ruled(rule)), /compilation failed/));
  }
});

const ruled = (rule: string): Schema => ({
  type: 'object',
  properties: { spec: { ...ANY, 'x-kubernetes-validations': [{ rule }] } },
});

describe('the budget of the library', () => {
  const many = Array<number>(20_000).fill(1);
  const long = 'a'.repeat(200_000);
  const DEAR: readonly string[] = [
    'self.counts.all(c, isURL(self.text) || c == 1)',
    'self.counts.all(c, !isQuantity(self.text))',
    'self.counts.all(c, !isIP(self.text) && !isCIDR(self.text))',
    'self.counts.all(c, format.dns1123Label().validate(self.text).hasValue())',
    'self.counts.all(c, self.counts.indexOf(2) == -1)',
    'self.counts.all(c, !sets.intersects(self.counts, [2]))',
    '!sets.intersects(self.counts, self.counts.map(c, c + 1))',
    'self.counts.all(c, self.text < self.text + "a")',
    'self.counts.map(c, self.text).join() != ""',
    'self.counts.all(c, self.text.split("").size() > 0)',
    'self.counts.all(c, self.at.getHours("Europe/Berlin") >= 0)',
    'self.counts.all(c, "%s".format([self.text]) != "")',
    'self.counts.all(c, strings.quote(self.text) != "")',
    'self.counts.all(c, self.text.findAll("b", 1).size() == 0)',
  ];
  for (const rule of DEAR) {
    it(`ends ${rule}`, () => {
      const check = compileRules(ruled(rule));
      const [cause] = check?.({ spec: { ...SPEC, counts: many, text: long } }) ?? [];
      assert.match(cause?.message ?? '', /running out of cost budget/);
    });
  }
});
