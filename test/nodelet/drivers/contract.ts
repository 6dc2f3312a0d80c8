import assert from 'node:assert/strict';
import type {
  Driver,
  DriverErrorReason,
  ExecRequest,
  GuestSpec,
  ObservedGuest,
} from '../../../nodelet/drivers/driver.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { eventually } from './eventually.ts';

/** One host for the suite: a place where guests are kept, over which drivers can be opened one after the other. */
export interface DriverHost extends AsyncDisposable {
  /** Opens a driver over the host's guests, wrapped as a nodelet wraps it. */
  open(): Promise<Driver>;
  readonly image: { readonly path: string; readonly digest: string };
  /** An image path that is not there; undefined where every path is an image. */
  readonly missingImage: string | undefined;
  /** Kills what runs the guest, as the kernel would under memory pressure. */
  crash(driver: Driver, id: string): Promise<void>;
  /** What is different after a restart: a process id, or the time of its start. */
  incarnation(id: string): Promise<string>;
}

const MIB = 1024 ** 2;
const BOOT_MS = 30_000;

/** The suite every driver passes. `makeHost` answers a sentence instead of a host where the driver cannot run. */
export function driverContract(name: string, makeHost: () => Promise<DriverHost | string>): void {
  describe(`driver contract: ${name}`, function () {
    this.timeout(60_000);
    const ended = new AbortController();
    const { signal } = ended;
    let host: DriverHost;
    let driver: Driver;

    const aGuest = (changes: Partial<GuestSpec> = {}): GuestSpec => ({
      id: systemIds.uid(),
      label: 'demo/guest, one',
      hostname: 'guest-one',
      guestOS: 'linux',
      image: host.image,
      vcpus: 1,
      memoryBytes: 128 * MIB,
      diskBytes: 0,
      epoch: 1,
      ...changes,
    });
    const observed = async (id: string): Promise<ObservedGuest | undefined> =>
      (await driver.list(signal)).find((g) => g.id === id);
    const seen = async (id: string): Promise<ObservedGuest> =>
      (await observed(id)) ?? assert.fail(`guest ${id} is not listed`);
    const untilPower = (id: string, power: ObservedGuest['power']) =>
      eventually(`guest is ${power}`, async () => {
        const guest = await seen(id);
        return guest.power === power && guest;
      });
    const untilAgent = (id: string) =>
      eventually('agent answers', async () => (await seen(id)).agentReady === true, BOOT_MS);
    const made = async (changes: Partial<GuestSpec> = {}): Promise<string> => {
      const spec = aGuest(changes);
      await driver.create(spec, signal);
      return spec.id;
    };
    const started = async (): Promise<string> => {
      const id = await made();
      await driver.start(id, signal);
      return id;
    };
    const run = async (
      id: string,
      command: string[],
      options: Partial<ExecRequest> & { readonly input?: string } = {},
    ) => {
      const guestProcess = await driver.exec(id, { command, stdin: options.input !== undefined, ...options }, signal);
      const [stdout, stderr, exit] = await Promise.all([
        text(guestProcess.stdout),
        text(guestProcess.stderr),
        guestProcess.exit,
        feed(guestProcess, options.input),
      ]);
      return { stdout, stderr, ...exit };
    };

    before(async function () {
      const answer = await makeHost();
      if (typeof answer === 'string') {
        process.stdout.write(`    skipped, ${name}: ${answer}\n`);
        this.skip();
      }
      host = answer;
      driver = await host.open();
    });
    after(async () => {
      ended.abort();
      if (host === undefined) return;
      await driver[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    });
    const removeAll = async () => {
      for (const guest of await driver.list(signal)) await driver.remove(guest.id, signal);
    };

    describe('lifecycle', () => {
      afterEach(removeAll);

      it('lists a created guest as off, with what it was made from', async () => {
        const id = await made({ epoch: 7 });
        const guest = await seen(id);
        assert.equal(guest.power, 'Off');
        assert.equal(guest.label, 'demo/guest, one');
        assert.equal(guest.epoch, 7);
        assert.equal(guest.vcpus, 1);
        assert.equal(guest.memoryBytes, 128 * MIB);
        assert.equal(guest.imageDigest, host.image.digest);
        assert.equal(guest.stopReason, undefined);
      });

      it('starts, stops and starts again', async () => {
        const id = await started();
        const running = await seen(id);
        assert.equal(running.power, 'Running');
        assert.equal(running.startedFrom, 'cold');
        const first = await host.incarnation(id);
        await driver.stop(id, { graceMs: 0 }, signal);
        const off = await seen(id);
        assert.equal(off.power, 'Off');
        assert.equal(off.stopReason, 'Requested');
        await driver.start(id, signal);
        const again = await seen(id);
        assert.equal(again.power, 'Running');
        assert.equal(again.stopReason, undefined);
        assert.notEqual(await host.incarnation(id), first);
      });

      it('ends in the same place when an operation is done twice', async () => {
        const spec = aGuest();
        await driver.create(spec, signal);
        await driver.create(spec, signal);
        await driver.start(spec.id, signal);
        const first = await host.incarnation(spec.id);
        await driver.start(spec.id, signal);
        await driver.create(spec, signal);
        assert.equal(await host.incarnation(spec.id), first);
        await driver.pause(spec.id, signal);
        await driver.pause(spec.id, signal);
        assert.equal((await seen(spec.id)).power, 'Paused');
        await driver.resume(spec.id, signal);
        await driver.resume(spec.id, signal);
        assert.equal((await seen(spec.id)).power, 'Running');
        await driver.stop(spec.id, { graceMs: 0 }, signal);
        await driver.stop(spec.id, { graceMs: 0 }, signal);
        assert.equal((await seen(spec.id)).power, 'Off');
        await driver.remove(spec.id, signal);
        await driver.remove(spec.id, signal);
        assert.equal(await observed(spec.id), undefined);
      });

      it('keeps the higher epoch when a guest is created again', async () => {
        const spec = aGuest({ epoch: 3 });
        await driver.create(spec, signal);
        await driver.create({ ...spec, epoch: 5 }, signal);
        await driver.create({ ...spec, epoch: 4 }, signal);
        assert.equal((await seen(spec.id)).epoch, 5);
      });

      it('stops a paused guest', async () => {
        const id = await started();
        await driver.pause(id, signal);
        await driver.stop(id, { graceMs: 0 }, signal);
        assert.equal((await seen(id)).power, 'Off');
      });

      it('removes a running guest, and finds nothing to do for an absent one', async () => {
        const id = await started();
        await driver.remove(id, signal);
        assert.equal(await observed(id), undefined);
        await driver.remove(systemIds.uid(), signal);
      });

      it('clears a host only when no guest is there any more, and leaves nothing', async () => {
        const id = await started();
        await assert.rejects(driver.clear(signal), /there are 1 guests/);
        assert.equal((await seen(id)).power, 'Running');
        await driver.remove(id, signal);
        assert.equal(await driver.clear(signal), 0);
        await driver[Symbol.asyncDispose]();
        driver = await host.open();
        assert.deepEqual(await driver.list(signal), []);
        assert.equal((await seen(await started())).power, 'Running');
      });

      it('does operations on one guest one after the other, in the order asked', async () => {
        const id = await made();
        const order: string[] = [];
        await Promise.all([
          driver.start(id, signal).then(() => order.push('start')),
          driver.stop(id, { graceMs: 0 }, signal).then(() => order.push('stop')),
          driver.start(id, signal).then(() => order.push('start again')),
        ]);
        assert.deepEqual(order, ['start', 'stop', 'start again']);
        assert.equal((await seen(id)).power, 'Running');
      });

      it('runs two guests beside each other', async () => {
        const ids = await Promise.all([started(), started()]);
        for (const id of ids) assert.equal((await seen(id)).power, 'Running');
        assert.notEqual(ids[0], ids[1]);
      });

      it('sees a crash', async () => {
        const id = await started();
        await host.crash(driver, id);
        const guest = await untilPower(id, 'Off');
        assert.equal(guest.stopReason, 'Crashed');
        assert.notEqual(guest.message, undefined);
        await driver.start(id, signal);
        assert.equal((await seen(id)).power, 'Running');
      });

      it('records that a guest that crashed is off on request, once it is stopped', async () => {
        const id = await started();
        await host.crash(driver, id);
        await untilPower(id, 'Off');
        await driver.stop(id, { graceMs: 0 }, signal);
        assert.equal((await seen(id)).stopReason, 'Requested');
        await driver[Symbol.asyncDispose]();
        driver = await host.open();
        assert.equal((await seen(id)).stopReason, 'Requested');
      });

      it('hints at changes, until the signal aborts', async () => {
        const id = await made();
        const reading = new AbortController();
        const hints = driver.changes(reading.signal)[Symbol.asyncIterator]();
        const first = hints.next();
        await driver.start(id, signal);
        assert.deepEqual(await first, { done: false, value: id });
        await host.crash(driver, id);
        await eventually('a hint after which the guest is off', async () => {
          assert.deepEqual(await hints.next(), { done: false, value: id });
          return (await seen(id)).power === 'Off';
        });
        const last = (async () => {
          while (!(await hints.next()).done);
        })();
        reading.abort();
        await last;
      });
    });

    describe('refusals', () => {
      afterEach(removeAll);
      const refuses = (work: Promise<unknown>, reason: DriverErrorReason) =>
        assert.rejects(work, (error: Error & { reason?: string }) => error.reason === reason && error.message !== '');

      it('names a guest that is not there', async () => {
        const id = systemIds.uid();
        await refuses(driver.start(id, signal), 'NoSuchGuest');
        await refuses(driver.stop(id, { graceMs: 0 }, signal), 'NoSuchGuest');
        await refuses(driver.pause(id, signal), 'NoSuchGuest');
        await refuses(driver.exec(id, { command: ['true'], stdin: false }, signal), 'NoSuchGuest');
        await refuses(collect(driver.logs(id, {}, signal)), 'NoSuchGuest');
      });

      it('runs nothing in, and does not pause, a guest that is off', async () => {
        const id = await made();
        await refuses(driver.exec(id, { command: ['true'], stdin: false }, signal), 'NotRunning');
        await refuses(driver.pause(id, signal), 'NotRunning');
        await refuses(driver.resume(id, signal), 'NotRunning');
      });

      it('refuses an image with another digest, and one that is not there', async () => {
        const other = { path: host.image.path, digest: `sha256:${'0'.repeat(64)}` };
        const spec = aGuest({ image: other });
        await refuses(driver.create(spec, signal), 'ImageMissing');
        assert.equal(await observed(spec.id), undefined);
        assert.equal((await driver.image(host.image.path, signal))?.digest, host.image.digest);
        if (host.missingImage === undefined) return;
        assert.equal(await driver.image(host.missingImage, signal), undefined);
        await refuses(driver.create(aGuest({ image: { ...other, path: host.missingImage } }), signal), 'ImageMissing');
      });

      it('refuses more memory or disk than the host has, with the number', async () => {
        const capacity = await driver.capacity(signal);
        const big = await made({ memoryBytes: capacity.memoryBytes + 1024 * MIB });
        await assert.rejects(driver.start(big, signal), new RegExp(String(capacity.memoryBytes + 1024 * MIB)));
        await refuses(driver.create(aGuest({ diskBytes: 1024 ** 5 }), signal), 'NoSpace');
      });
    });

    describe('volumes', () => {
      const GIB = 1024 ** 3;
      const refuses = (work: Promise<unknown>, reason: DriverErrorReason) =>
        assert.rejects(work, (error: Error & { reason?: string }) => error.reason === reason && error.message !== '');
      const files = async () => new Map((await driver.volumes(signal)).map((file) => [file.id, file.sizeBytes]));
      afterEach(async () => {
        await removeAll();
        for (const { id } of await driver.volumes(signal)) await driver.removeVolume(id, signal);
      });

      it('are refused by a driver that does not say that it has them', async () => {
        if (driver.capabilities.volumes === true) return;
        assert.deepEqual(await driver.volumes(signal), []);
        await refuses(driver.keepVolume({ id: 'vol-000000000001', sizeBytes: GIB }, signal), 'Unsupported');
        await refuses(driver.removeVolume('vol-000000000001', signal), 'Unsupported');
        await refuses(driver.create(aGuest({ volumes: ['vol-000000000001'] }), signal), 'Unsupported');
      });

      it('are made, grow, never shrink, and go, each of it as often as it is asked', async () => {
        if (driver.capabilities.volumes !== true) return;
        for (const gib of [2, 2, 3, 1])
          await driver.keepVolume({ id: 'vol-000000000001', sizeBytes: gib * GIB }, signal);
        assert.deepEqual([...(await files())], [['vol-000000000001', 3 * GIB]]);
        for (let i = 0; i < 2; i++) await driver.removeVolume('vol-000000000001', signal);
        assert.equal((await files()).size, 0);
        const { diskBytes } = await driver.capacity(signal);
        await refuses(driver.keepVolume({ id: 'vol-000000000001', sizeBytes: diskBytes + GIB }, signal), 'NoSpace');
      });

      it('are one guest’s at a time, and neither grow nor go under it', async () => {
        if (driver.capabilities.volumes !== true) return;
        const volumes = ['vol-000000000001'];
        await refuses(driver.create(aGuest({ volumes }), signal), 'VolumeMissing');
        await driver.keepVolume({ id: 'vol-000000000001', sizeBytes: GIB }, signal);
        const id = await made({ volumes });
        await refuses(driver.create(aGuest({ volumes }), signal), 'InUse');
        await driver.create(aGuest({ id, volumes }), signal);
        await refuses(driver.removeVolume('vol-000000000001', signal), 'InUse');
        await refuses(driver.keepVolume({ id: 'vol-000000000001', sizeBytes: 2 * GIB }, signal), 'InUse');
        await driver.keepVolume({ id: 'vol-000000000001', sizeBytes: GIB }, signal);
        await driver.remove(id, signal);
        assert.deepEqual([...(await files())], [['vol-000000000001', GIB]], 'what is on it stays');
        await made({ volumes });
      });

      it('are there for the next driver, and the guests that have them', async () => {
        if (driver.capabilities.volumes !== true) return;
        await driver.keepVolume({ id: 'vol-000000000001', sizeBytes: GIB }, signal);
        await made({ volumes: ['vol-000000000001'] });
        await driver[Symbol.asyncDispose]();
        driver = await host.open();
        assert.deepEqual([...(await files())], [['vol-000000000001', GIB]]);
        await refuses(driver.removeVolume('vol-000000000001', signal), 'InUse');
      });
    });

    describe('in a running guest', () => {
      let id: string;
      before(async () => {
        if (driver === undefined) return;
        id = await started();
        await untilAgent(id);
      });
      after(async () => {
        if (driver !== undefined) await removeAll();
      });

      it('runs a command and tells its output and exit code', async () => {
        assert.deepEqual(await run(id, ['echo', 'hello', 'guest']), { stdout: 'hello guest\n', stderr: '', code: 0 });
        assert.equal((await run(id, ['false'])).code, 1);
        assert.equal((await run(id, ['sh', '-c', 'exit 42'])).code, 42);
        assert.equal((await run(id, ['uname'])).stdout, 'Linux\n');
      });

      it('knows the name it was given', async () => {
        assert.equal((await run(id, ['uname', '-n'])).stdout, 'guest-one\n');
      });

      it('exits 127, with a word on stderr, for a command that is not there', async () => {
        const result = await run(id, ['no-such-command']);
        assert.equal(result.code, 127);
        assert.match(result.stderr, /no-such-command/);
        assert.equal(result.stdout, '');
      });

      it('passes stdin through, and its end', async () => {
        const input = 'line\n'.repeat(40_000);
        const result = await run(id, ['cat'], { input });
        assert.equal(result.stdout, input);
        assert.equal(result.code, 0);
      });

      it('gives a command without stdin an empty one', async () => {
        assert.deepEqual(await run(id, ['cat']), { stdout: '', stderr: '', code: 0 });
      });

      it('kills a command when its signal aborts', async () => {
        const stopping = new AbortController();
        const endless = await driver.exec(id, { command: ['cat'], stdin: true }, stopping.signal);
        stopping.abort();
        const outcome = await endless.exit.catch(() => 'rejected');
        assert.notDeepEqual(outcome, { code: 0 });
        assert.equal((await run(id, ['true'])).code, 0);
      });

      it('runs commands beside each other', async () => {
        const results = await Promise.all(Array.from({ length: 8 }, (_, i) => run(id, ['echo', String(i)])));
        assert.deepEqual(
          results.map((r) => r.stdout),
          Array.from({ length: 8 }, (_, i) => `${i}\n`),
        );
      });

      it('shows the console log, all of it or its last lines', async () => {
        const all = await eventually('the console has a line', async () => {
          const bytes = await collect(driver.logs(id, {}, signal));
          return bytes.includes('\n') && bytes;
        });
        const last = await collect(driver.logs(id, { tailLines: 1 }, signal));
        assert.equal(last.trimEnd(), all.trimEnd().split('\n').at(-1));
        assert.equal(await collect(driver.logs(id, { tailLines: 0 }, signal)), '');
      });

      it('answers exec again after a pause and a resume', async () => {
        await driver.pause(id, signal);
        await assert.rejects(driver.exec(id, { command: ['true'], stdin: false }, signal), { reason: 'NotRunning' });
        await driver.resume(id, signal);
        assert.equal((await run(id, ['true'])).code, 0);
      });

      it('leaves guests running when disposed; the next driver adopts them as they are', async () => {
        const before = await seen(id);
        const first = await host.incarnation(id);
        await driver[Symbol.asyncDispose]();
        driver = await host.open();
        await untilAgent(id);
        const adopted = await seen(id);
        assert.equal(adopted.power, 'Running');
        assert.equal(adopted.startedAt, before.startedAt);
        assert.equal(await host.incarnation(id), first);
        await driver.start(id, signal);
        assert.equal(await host.incarnation(id), first);
        assert.equal((await run(id, ['echo', 'still here'])).stdout, 'still here\n');
      });

      it('follows the log until the guest is removed, breaks its commands off, and tells why it went', async () => {
        const endless = await driver.exec(id, { command: ['cat'], stdin: true }, signal);
        const broken = assert.rejects(endless.exit, { reason: 'StreamBroken' });
        const log = collect(driver.logs(id, { follow: true }, signal));
        await run(id, ['poweroff', '-f']).catch(() => {});
        const guest = await untilPower(id, 'Off');
        assert.equal(guest.stopReason, 'GuestShutdown');
        await broken;
        await driver.remove(id, signal);
        assert.match(await log, /\n/);
      });
    });

    describe('when no driver is there', () => {
      afterEach(removeAll);

      it('finds out later what became of a guest', async () => {
        const [dies, stays] = [await started(), await started()];
        await driver[Symbol.asyncDispose]();
        const between = await host.open();
        await host.crash(between, dies);
        await between[Symbol.asyncDispose]();
        driver = await host.open();
        assert.equal((await untilPower(dies, 'Off')).stopReason, 'Crashed');
        assert.equal((await seen(stays)).power, 'Running');
      });
    });
  });
}

async function feed(
  guestProcess: { write(b: Uint8Array): Promise<void>; closeStdin(): Promise<void> },
  input: string | undefined,
) {
  if (input === undefined) return;
  const bytes = new TextEncoder().encode(input);
  for (let at = 0; at < bytes.length; at += 32_768) await guestProcess.write(bytes.subarray(at, at + 32_768));
  await guestProcess.closeStdin();
}

async function text(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

const collect = text;
