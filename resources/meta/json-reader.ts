import type { ParsedJson } from './json.ts';
import { JsonSyntaxError } from './json-syntax-error.ts';

/** Reads JSON one character at a time: slower than the engine's parser, but it sees repeated members and long integers. */
export function readJson(text: string, maxDepth: number): ParsedJson {
  return new Reader(text, maxDepth).document();
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERALS = { t: 'true', f: 'false', n: 'null' } as const;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

class Reader {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #duplicates = new Set<string>();
  #at = 0;
  #depth = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): ParsedJson {
    const value = this.#value('');
    this.#space();
    if (this.#at < this.#text.length) throw this.#unexpected('after top-level value');
    return { value, duplicates: [...this.#duplicates] };
  }

  #value(path: string): unknown {
    this.#space();
    const c = this.#text[this.#at];
    switch (c) {
      case '{':
        return this.#nested(() => this.#object(path));
      case '[':
        return this.#nested(() => this.#array(path));
      case '"':
        return this.#string();
      case 't':
      case 'f':
      case 'n':
        return this.#literal(LITERALS[c]);
      default:
        if (c === '-' || (c !== undefined && c >= '0' && c <= '9')) return this.#number();
        throw this.#unexpected('looking for beginning of value');
    }
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > this.#maxDepth) throw new JsonSyntaxError('exceeded max depth', this.#at);
    this.#at++;
    const value = read();
    this.#depth--;
    return value;
  }

  #object(path: string): unknown {
    const fields: Record<string, unknown> = {};
    this.#space();
    if (this.#take('}')) return fields;
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') throw this.#unexpected('looking for beginning of object key string');
      const name = this.#string();
      this.#space();
      if (!this.#take(':')) throw this.#unexpected('after object key');
      const at = path === '' ? name : `${path}.${name}`;
      if (Object.hasOwn(fields, name)) this.#duplicates.add(at);
      setOwn(fields, name, this.#value(at));
      this.#space();
      if (this.#take('}')) return fields;
      if (!this.#take(',')) throw this.#unexpected('after object key:value pair');
    }
  }

  #array(path: string): unknown {
    const items: unknown[] = [];
    this.#space();
    if (this.#take(']')) return items;
    for (;;) {
      items.push(this.#value(`${path}[${items.length}]`));
      this.#space();
      if (this.#take(']')) return items;
      if (!this.#take(',')) throw this.#unexpected('after array element');
    }
  }

  #string(): string {
    let out = '';
    let start = ++this.#at;
    for (;;) {
      const c = this.#text[this.#at];
      if (c === '"') {
        out += this.#text.slice(start, this.#at++);
        return out;
      }
      if (c === undefined || c < ' ') throw this.#unexpected('in string literal');
      if (c === '\\') {
        out += this.#text.slice(start, this.#at++);
        out += this.#escape();
        start = this.#at;
      } else {
        this.#at++;
      }
    }
  }

  #escape(): string {
    const c = this.#text[this.#at];
    if (c === 'u') {
      for (let i = 0; i < 4; i++) {
        this.#at++;
        if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? ''))
          throw this.#unexpected('in \\u hexadecimal character escape');
      }
      this.#at++;
      return String.fromCharCode(Number.parseInt(this.#text.slice(this.#at - 4, this.#at), 16));
    }
    const plain = c === undefined ? undefined : ESCAPES[c];
    if (plain === undefined) throw this.#unexpected('in string escape code');
    this.#at++;
    return plain;
  }

  #literal(word: string): boolean | null {
    for (const letter of word) {
      if (this.#text[this.#at] !== letter) throw this.#unexpected(`in literal ${word} (expecting '${letter}')`);
      this.#at++;
    }
    return word === 'null' ? null : word === 'true';
  }

  #number(): number | bigint {
    NUMBER.lastIndex = this.#at;
    const digits = NUMBER.exec(this.#text)?.[0];
    if (digits === undefined) {
      this.#at++;
      throw this.#unexpected('in numeric literal');
    }
    this.#at += digits.length;
    const number = Number(digits);
    if (!Number.isFinite(number)) {
      throw new JsonSyntaxError(`cannot unmarshal number ${digits} into Go value of type float64`, this.#at);
    }
    if (Number.isSafeInteger(number) || !/^-?[0-9]+$/.test(digits)) return number;
    const exact = BigInt(digits);
    return exact >= INT64_MIN && exact <= INT64_MAX ? exact : number;
  }

  #space(): void {
    while (/[ \t\n\r]/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #take(c: string): boolean {
    if (this.#text[this.#at] !== c) return false;
    this.#at++;
    return true;
  }

  #unexpected(where: string): JsonSyntaxError {
    const point = this.#text.codePointAt(this.#at);
    if (point === undefined) return new JsonSyntaxError('unexpected end of JSON input', this.#at);
    return new JsonSyntaxError(`invalid character ${quotedRune(String.fromCodePoint(point))} ${where}`, this.#at);
  }
}

/** Sets an own field even when its name is `__proto__`. */
export function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

function quotedRune(rune: string): string {
  if (rune === "'") return `'\\''`;
  if (rune === '"') return `'"'`;
  const point = rune.codePointAt(0) ?? 0;
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) {
    const short = { 7: 'a', 8: 'b', 9: 't', 10: 'n', 11: 'v', 12: 'f', 13: 'r' }[point];
    if (short !== undefined) return `'\\${short}'`;
    return point < 0x80 ? `'\\x${point.toString(16).padStart(2, '0')}'` : `'\\u${point.toString(16).padStart(4, '0')}'`;
  }
  return rune === '\\' ? `'\\\\'` : `'${rune}'`;
}
