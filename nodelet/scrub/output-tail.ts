/** The last bytes of what is said, as text that may stand in an object. */
export class OutputTail {
  readonly #max: number;
  #bytes: Buffer = Buffer.alloc(0);
  #cut = false;

  constructor(max: number) {
    this.#max = max;
  }

  add(bytes: Buffer): void {
    const all = Buffer.concat([this.#bytes, bytes]);
    this.#cut ||= all.length > this.#max;
    this.#bytes = all.subarray(Math.max(0, all.length - this.#max));
  }

  /** Without control characters, and without the half of a character that the cut may have left. */
  text(): string {
    const text = this.#bytes.toString('utf8').replace(/[^\P{Cc}\n\t]/gu, '');
    return (this.#cut ? `…${text.replace(/^\uFFFD+/, '')}` : text).trimEnd();
  }
}
