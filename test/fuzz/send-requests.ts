import { createSecureContext, type SecureContext } from 'node:tls';
import { faultOf } from './check-answer.ts';
import { type Asked, type FuzzRequest, type FuzzRequests, replayable } from './fuzz-request.ts';
import { Closed, NoHttp, TlsLine } from './tls-line.ts';

/** How long an answer may take before it counts as none. */
const PATIENCE_MS = 45_000;
const AT_ONCE = 8;

export interface Outcome {
  /** What was wrong, each with the request as text. */
  readonly faults: readonly string[];
  /** How many answers there were of each status; `closed` where the connection was closed without one. */
  readonly statuses: ReadonlyMap<string, number>;
  /** The longest the loop was held, with what was under way then. */
  readonly held: readonly { readonly ms: number; readonly during: readonly string[] }[];
}

/** Sends requests, eight at a time, and reads what comes back. */
export async function sendRequests(
  requests: FuzzRequests,
  { from, count, port, caCert }: { from: number; count: number; port: number; caCert: string },
): Promise<Outcome> {
  const sender = new Sender(port, createSecureContext({ ca: caCert }));
  let next = from;
  const work = async () => {
    using worker = new Worker(sender);
    while (next < from + count) await worker.send(requests.make(next++));
  };
  using _watching = sender.watchLoop();
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return sender;
}

const TICK_MS = 10;
const HELD_MS = 100;
const MOST_HELD = 5;
const MOST_FAULTS = 20;

class Sender implements Outcome {
  readonly port: number;
  readonly context: SecureContext;
  readonly faults: string[] = [];
  readonly statuses = new Map<string, number>();
  readonly held: { ms: number; during: readonly string[] }[] = [];
  readonly underWay = new Set<FuzzRequest>();

  constructor(port: number, context: SecureContext) {
    this.port = port;
    this.context = context;
  }

  readonly #session: { latest?: Buffer } = {};

  open(): Promise<TlsLine> {
    return TlsLine.open(this.port, this.context, this.#session);
  }

  count(status: string): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  fault(request: FuzzRequest, why: string): void {
    if (this.faults.length < MOST_FAULTS) this.faults.push(`${why}\n  ${replayable(request)}`);
  }

  /** Notes when the loop was held for long, and by whom it may have been. */
  watchLoop(): Disposable {
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      const ms = Math.round(now - last - TICK_MS);
      last = now;
      if (ms < HELD_MS) return;
      this.held.push({ ms, during: [...this.underWay].map(replayable) });
      this.held.sort((a, b) => b.ms - a.ms).splice(MOST_HELD);
    }, TICK_MS);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
}

/** Sends one request after the other, over one connection as long as that is left open. */
class Worker implements Disposable {
  readonly #sender: Sender;
  #kept: TlsLine | undefined;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  async send(request: FuzzRequest): Promise<void> {
    this.#sender.underWay.add(request);
    try {
      await this.#sendIn(request);
    } finally {
      this.#sender.underWay.delete(request);
    }
  }

  [Symbol.dispose](): void {
    this.#kept?.[Symbol.dispose]();
  }

  async #sendIn(request: FuzzRequest): Promise<void> {
    if (request.manner === 'whole') return this.#whole(request);
    using line = await this.#sender.open();
    if (request.manner === 'dropped') {
      line.write(request.bytes);
      // Now and then the server has begun on it already.
      if (request.number % 2 === 0) await new Promise(setImmediate);
      return;
    }
    if (request.manner === 'pieces') await inPieces(line, request.bytes);
    else line.write(request.bytes);
    if (request.manner === 'half-closed') line.socket.end();
    if (request.manner === 'misframed') {
      await new Promise(setImmediate);
      line.socket.end();
    }
    const certain = request.manner === 'pieces' || request.manner === 'upgrade';
    for (const asked of request.asked) if (!(await this.#read(line, request, asked, certain))) return;
  }

  async #whole(request: FuzzRequest): Promise<void> {
    if (this.#kept?.usable !== true) {
      this.#kept?.[Symbol.dispose]();
      this.#kept = await this.#sender.open();
    }
    this.#kept.write(request.bytes);
    const [asked] = request.asked;
    if (asked !== undefined && (await this.#read(this.#kept, request, asked, true))) return;
    this.#kept[Symbol.dispose]();
    this.#kept = undefined;
  }

  /** Reads an answer; whether there can be another one. A request that was framed as it should be must be answered. */
  async #read(line: TlsLine, request: FuzzRequest, { method, target }: Asked, certain: boolean): Promise<boolean> {
    const late = setTimeout(() => line.socket.destroy(new Error('late')), PATIENCE_MS);
    const began = performance.now();
    try {
      const answer = await line.answer(method, /watch|follow/i.test(target));
      this.#sender.count(String(answer.status));
      const why = faultOf(answer);
      if (why !== undefined) this.#sender.fault(request, why);
      return !answer.open && answer.headers.get('connection') !== 'close';
    } catch (error) {
      const late = performance.now() - began >= PATIENCE_MS;
      if (late) this.#sender.fault(request, 'no answer, and the connection was not closed');
      else if (error instanceof NoHttp) this.#sender.fault(request, `no HTTP: ${error.message}`);
      else if (!(error instanceof Closed)) throw error;
      // There is nobody to tunnel to.
      else if (certain && method !== 'CONNECT') this.#sender.fault(request, 'closed without an answer');
      else this.#sender.count('closed');
      return false;
    } finally {
      clearTimeout(late);
    }
  }
}

async function inPieces(line: TlsLine, bytes: Buffer): Promise<void> {
  const step = Math.ceil(bytes.length / 5);
  for (let at = 0; at < bytes.length; at += step) {
    line.write(bytes.subarray(at, at + step));
    await new Promise(setImmediate);
  }
}
