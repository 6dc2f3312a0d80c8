import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostIdentity } from '../../../apiserver/auth/identity.ts';
import { ApiClient } from '../../../apiserver/client/client.ts';
import { HttpsTransport } from '../../../apiserver/client/https-transport.ts';
import { ServerChoice } from '../../../apiserver/client/server-choice.ts';
import type { HostAuthority } from '../../../apiserver/enrollment/host-enrollment.ts';
import { openPki, type Pki } from '../../../apiserver/pki/pki-files.ts';
import { enroll } from '../../../nodelet/identity/enroll.ts';
import { type EnrollmentToken, parseEnrollmentToken } from '../../../nodelet/identity/enrollment-token.ts';
import { HostIdentity } from '../../../nodelet/identity/host-identity.ts';
import { newHostKey } from '../../../nodelet/identity/host-key.ts';
import { type Credentials, IdentityFile } from '../../../nodelet/identity/identity-file.ts';
import { pinnedAuthority } from '../../../nodelet/identity/pinned-authority.ts';
import { requestCertificate } from '../../../nodelet/identity/request-certificate.ts';
import { lineLogger } from '../../../resources/ambient/log.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { Host } from '../../../resources/kinds/host.ts';
import { type ListeningServer, listenTestServer, startTestServer, type TestServer } from '../../harness/server.ts';
import { until } from '../../harness/until.ts';

const DAY_MS = 24 * 3_600_000;
const NAMES = ['127.0.0.1', 'localhost'];
const signal = new AbortController().signal;

/** A server with an authority of its own, which may be changed under it. */
class World implements AsyncDisposable {
  /** Of the authority and the host; the server has the system's. */
  readonly clock: ManualClock;
  readonly folder: string;
  authority: Pki;
  readonly #ended = new AsyncDisposableStack();
  #test: TestServer | undefined;

  private constructor(folder: string, authority: Pki, clock: ManualClock) {
    this.folder = folder;
    this.authority = authority;
    this.clock = clock;
  }

  static async open(clock = new ManualClock(Date.now())): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'coppice-identity-'));
    const world = new World(folder, await openPki(join(folder, 'pki'), NAMES, clock, systemIds), clock);
    const hostAuthority: HostAuthority = {
      get caCert() {
        return world.authority.caCert;
      },
      certifyClient: (subject, key) => world.authority.certifyClient(subject, key),
    };
    world.#ended.defer(() => rm(folder, { recursive: true, force: true }));
    world.#test = world.#ended.use(await startTestServer({ hostAuthority }));
    return world;
  }

  get test(): TestServer {
    assert.ok(this.#test !== undefined);
    return this.#test;
  }

  async listen(): Promise<ListeningServer> {
    return this.#ended.use(await listenTestServer(this.test, join(this.folder, 'pki')));
  }

  async makeHost(name: string): Promise<string> {
    const hosts = this.test.client.resource<Host>(Host);
    const spec = { group: 'default' };
    return (await hosts.create({ apiVersion: 'coppice.dev/v1', kind: 'Host', metadata: { name }, spec })).metadata.uid;
  }

  async mint(name: string): Promise<EnrollmentToken> {
    const wish = { apiVersion: 'coppice.dev/v1', kind: 'HostToken', metadata: {}, spec: {} };
    const answer = await this.test.client.json({
      method: 'POST',
      path: `/apis/coppice.dev/v1/hosts/${name}/token`,
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify(wish)),
    });
    const token = parseEnrollmentToken((answer as { status: { token: string } }).status.token);
    assert.ok(token !== undefined);
    return token;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ended.disposeAsync();
  }
}

const deps = (...servers: string[]) => ({
  servers: new ServerChoice(servers, () => 0),
  clock: systemClock,
  random: () => 0,
});

describe('a token, as its host reads it', () => {
  const hash = 'a'.repeat(64);
  const secret = '5'.repeat(64);

  it('names the host and the authorities', () => {
    assert.deepEqual(parseEnrollmentToken(`mac-1.${hash}.${secret}`)?.authorities, [hash]);
    const two = parseEnrollmentToken(`mac-1.${hash}+${'b'.repeat(64)}.${secret}`);
    assert.deepEqual([two?.host, two?.authorities], ['mac-1', [hash, 'b'.repeat(64)]]);
  });

  for (const text of [
    '',
    'mac-1',
    `mac-1..${secret}`,
    `../x.${hash}.${secret}`,
    `-a.${hash}.${secret}`,
    `a.${hash}.${secret} `,
  ])
    it(`is not "${text.slice(0, 20)}"`, () => assert.equal(parseEnrollmentToken(text), undefined));
});

describe('enrolling', () => {
  let world: World;
  let server: ListeningServer;

  before(async () => {
    world = await World.open();
    server = await world.listen();
  });
  after(() => world[Symbol.asyncDispose]());

  const fileOf = (name: string) => new IdentityFile(join(world.folder, 'hosts', name));

  it('makes a key that stays here, and a certificate that servers know the host by', async () => {
    const uid = await world.makeHost('plain');
    const file = fileOf('plain');
    const credentials = await enroll(await world.mint('plain'), file, deps(server.url), signal);
    const leaf = new X509Certificate(credentials.certificate);
    assert.ok(leaf.checkPrivateKey(createPrivateKey(credentials.key)));
    assert.match(leaf.subject, new RegExp(`CN=system:host:plain\nserialNumber=${uid}$`));
    assert.equal(credentials.authorities, world.authority.caCert);
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
    assert.deepEqual((await file.read())?.enrolled?.credentials, credentials);
    assert.deepEqual(readdirSync(join(file.path, '..')), ['identity.json']);
    await using transport = new HttpsTransport({
      server: server.url,
      ca: credentials.authorities,
      cert: credentials.certificate,
      key: credentials.key,
    });
    const own = await new ApiClient(transport.send).resource<Host>(Host).get('plain');
    assert.equal(own.metadata.uid, uid);
  });

  it('leaves no connection behind', async () => {
    await world.makeHost('brief');
    const token = await world.mint('brief');
    const open = () => process.getActiveResourcesInfo().filter((what) => what === 'TCPSocketWrap').length;
    const before = open();
    await enroll(token, fileOf('brief'), deps(server.url), signal);
    await until('its connections are closed', () => open() <= before);
  });

  it('goes to the next server when one is not there', async () => {
    await world.makeHost('second');
    await enroll(await world.mint('second'), fileOf('second'), deps('https://127.0.0.1:1', server.url), signal);
  });

  it('tells a server of another authority nothing', async () => {
    await using other = await World.open();
    const strange = await other.listen();
    await world.makeHost('wary');
    const token = await world.mint('wary');
    const attempt = enroll(token, fileOf('wary'), deps(strange.url), signal);
    await assert.rejects(attempt, { name: 'StrangeServerError' });
    // The right one is found among wrong ones.
    await enroll(token, fileOf('wary'), deps(strange.url, 'https://127.0.0.1:1', server.url), signal);
  });

  it('trusts no certificate that only has the right name', async () => {
    await using other = await World.open();
    const strange = await other.listen();
    const { authorities } = await (async () => {
      await world.makeHost('namesake');
      return world.mint('namesake');
    })();
    await assert.rejects(pinnedAuthority(strange.url, authorities, systemClock, signal), {
      name: 'StrangeServerError',
    });
    assert.equal(
      (await pinnedAuthority(server.url, authorities, systemClock, signal)).replace(/\s/g, ''),
      world.authority.caCert.replace(/\s/g, ''),
    );
  });

  it('says which server is away, and ends with its signal', async () => {
    await assert.rejects(pinnedAuthority('https://127.0.0.1:1', [], systemClock, signal), { reason: 'refused' });
    const mute = createServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const address = mute.address();
    assert.ok(address !== null && typeof address === 'object');
    const url = `https://127.0.0.1:${address.port}`;
    const clock = new ManualClock();
    const late = pinnedAuthority(url, [], clock, signal);
    const ending = new AbortController();
    const ended = pinnedAuthority(url, [], clock, ending.signal);
    ending.abort(new Error('enough'));
    await assert.rejects(ended, { message: 'enough' });
    await clock.advance(5_000);
    await assert.rejects(late, { reason: 'timeout' });
    await new Promise((resolve) => mute.close(resolve));
  });

  it('goes on with the same key when a start was cut short after the token was used', async () => {
    await world.makeHost('cut');
    const token = await world.mint('cut');
    const file = fileOf('cut');
    // The first answer is lost: what is on disk is what was there before it.
    const write = file.write.bind(file);
    file.write = async (kept) => {
      if (kept.enrolled !== undefined) throw new Error('the power went');
      await write(kept);
    };
    await assert.rejects(enroll(token, file, deps(server.url), signal), { message: 'the power went' });
    const again = await enroll(token, fileOf('cut'), deps(server.url), signal);
    assert.equal((await fileOf('cut').read())?.enrolled?.credentials.key, again.key);
    await assert.rejects(enroll(token, fileOf('other-home'), deps(server.url), signal), { reason: 'Unauthorized' });
  });

  it('asks nobody again by a token it was enrolled by, and takes another token as a new beginning', async () => {
    await world.makeHost('again');
    const token = await world.mint('again');
    const first = await enroll(token, fileOf('again'), deps(server.url), signal);
    assert.deepEqual(await enroll(token, fileOf('again'), deps('https://127.0.0.1:1'), signal), first);
    const second = await enroll(await world.mint('again'), fileOf('again'), deps(server.url), signal);
    assert.notEqual(second.key, first.key);
    assert.deepEqual((await fileOf('again').read())?.enrolled?.credentials, second);
  });

  it('keeps what it was known by while another token is of no use', async () => {
    await world.makeHost('kept');
    const first = await enroll(await world.mint('kept'), fileOf('kept'), deps(server.url), signal);
    const spent = await world.mint('kept');
    await enroll(spent, fileOf('elsewhere'), deps(server.url), signal);
    await assert.rejects(enroll(spent, fileOf('kept'), deps(server.url), signal), { reason: 'Unauthorized' });
    assert.deepEqual((await fileOf('kept').read())?.enrolled?.credentials, first);
  });

  it('does not make a damaged identity anew', async () => {
    await world.makeHost('damaged');
    const file = fileOf('damaged');
    await enroll(await world.mint('damaged'), file, deps(server.url), signal);
    writeFileSync(file.path, readFileSync(file.path).subarray(0, 100));
    await assert.rejects(enroll(await world.mint('damaged'), file, deps(server.url), signal), /holds no identity/);
    assert.ok(existsSync(file.path));
  });
});

describe('an identity', () => {
  let world: World;
  let file: IdentityFile;
  let uid: string;
  let client: ApiClient;
  let first: Credentials;
  let identity: HostIdentity;
  let logged: string[];
  let ending: AbortController;
  let keeping: Promise<void>;

  beforeEach(async () => {
    world = await World.open();
    uid = await world.makeHost('mac-1');
    client = world.test.as(hostIdentity('mac-1', uid));
    file = new IdentityFile(join(world.folder, 'mac-1'));
    first = await requestCertificate(client, 'mac-1', await newHostKey(), signal);
    await file.write({ enrolled: { token: 't', credentials: first } });
  });
  afterEach(async () => {
    ending.abort();
    await keeping;
    await world[Symbol.asyncDispose]();
  });

  /** Lets it be looked after, this long after it was made. */
  const keepFrom = async (ms: number) => {
    logged = [];
    const { clock } = world;
    await clock.advance(ms);
    const log = lineLogger(
      (line) => logged.push(line),
      () => clock.now(),
    );
    identity = new HostIdentity({ name: 'mac-1', file, credentials: first, clock, random: () => 0.5, log });
    ending = new AbortController();
    keeping = identity.keep(client, ending.signal).catch((error: unknown) => {
      if (!ending.signal.aborted) throw error;
    });
  };

  /** Keys are made in real time, so the clock must not run away. */
  const passing = (what: string, holds: () => boolean) =>
    until(what, async () => {
      await world.clock.advance(1_000);
      return holds();
    });
  /** So many checks, each to its end. */
  const checks = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await until('it was looked at', () => world.clock.waiting > 0);
      await world.clock.advance(60_000);
    }
  };
  const told = () => logged.filter((line) => line.includes('certificate renewed')).length;

  it('is renewed with a new key before a third of its life is left, while it runs, and kept', async () => {
    const { clock } = world;
    await keepFrom(60 * DAY_MS - 600_000);
    await checks(7);
    assert.deepEqual([identity.credentials, told()], [first, 0]);
    await passing('it is renewed', () => told() === 1);
    const leaf = new X509Certificate(identity.credentials.certificate);
    assert.ok(leaf.validToDate.getTime() - clock.now() > 89 * DAY_MS);
    assert.ok(new X509Certificate(first.certificate).validToDate.getTime() - clock.now() > 25 * DAY_MS);
    assert.ok(leaf.checkPrivateKey(createPrivateKey(identity.credentials.key)));
    assert.notEqual(identity.credentials.key, first.key);
    assert.deepEqual(await file.read(), { enrolled: { token: 't', credentials: identity.credentials } });
  });

  it('follows the authorities that servers are to be trusted by', async () => {
    const { clock } = world;
    await keepFrom(0);
    world.authority = await openPki(join(world.folder, 'new-pki'), NAMES, clock, systemIds);
    await passing('it is renewed', () => told() === 1);
    assert.equal(identity.credentials.authorities, world.authority.caCert);
    await checks(5);
    assert.equal(told(), 1);
  });

  it('follows them at once when somebody else finds out first', async () => {
    const { clock } = world;
    await keepFrom(0);
    await until('it was looked at', () => clock.waiting > 0);
    world.authority = await openPki(join(world.folder, 'other-pki'), NAMES, clock, systemIds);
    await identity.controlPlane(client, signal);
    await until('it is renewed', () => told() === 1);
    assert.equal(identity.credentials.authorities, world.authority.caCert);
  });

  it('says once that servers do not take it any more, and keeps what it has', async () => {
    await keepFrom(0);
    const hosts = world.test.client.resource<Host>(Host);
    await hosts.delete('mac-1');
    const refusals = () => logged.filter((line) => / error .*do not take this host/.test(line));
    await passing('it is told', () => refusals().length === 1);
    assert.match(refusals()[0] ?? '', /coppice host token mac-1/);
    await checks(3);
    await world.makeHost('mac-1');
    await checks(3);
    assert.equal(refusals().length, 1);
    assert.deepEqual(identity.credentials, first);
  });
});
