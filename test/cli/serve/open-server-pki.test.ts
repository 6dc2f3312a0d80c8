import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tokenIn, writeAdminKubeconfig } from '../../../apiserver/pki/admin-kubeconfig.ts';
import { openHome } from '../../../cli/serve/home.ts';
import { openServerPki } from '../../../cli/serve/open-server-pki.ts';
import { ALONE } from '../../../cli/serve/server-options.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

const RACER = join(import.meta.dirname, 'pki-racer.ts');
const RACERS = 4;

interface Told {
  readonly ca: string;
  readonly hash: string;
  readonly serviceAccountKey: string;
  readonly sealingKeys: readonly string[];
  readonly leaf: string;
  readonly tokenHash: string | null;
  readonly cert: string | null;
}

describe('the keys of a server', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-keys-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('are the same for all that start at once on one empty folder, but for the leaf of each', async () => {
    const pki = join(folder, 'pki');
    const racers = Array.from({ length: RACERS }, (_, i) => new Racer(join(folder, `home-${i}`), pki));
    await Promise.all(racers.map((racer) => racer.line()));
    for (const racer of racers) racer.start();
    const told = await Promise.all(racers.map(async (racer) => JSON.parse(await racer.line()) as Told));
    const shared = ({ ca, hash, serviceAccountKey, sealingKeys }: Told) => ({
      ca,
      hash,
      serviceAccountKey,
      sealingKeys,
    });
    for (const each of told) assert.deepEqual(shared(each), shared(told[0] as Told));
    assert.equal(new Set(told.map(({ leaf }) => leaf)).size, RACERS);
    const ca = new X509Certificate(told[0]?.ca ?? '');
    for (const { leaf } of told) assert.ok(new X509Certificate(leaf).verify(ca.publicKey));
    // One made the token and knows it; the others show a certificate that says the same.
    assert.deepEqual(
      told.flatMap(({ tokenHash }) => tokenHash ?? []),
      [told[0]?.hash],
    );
    const certs = told.flatMap(({ cert }) => cert ?? []);
    assert.equal(certs.length, RACERS - 1);
    for (const cert of certs)
      assert.deepEqual(new X509Certificate(cert).subject.split('\n').sort(), ['CN=operator', 'O=coppice:operators']);
    assert.deepEqual(readdirSync(pki).sort(), [
      'ca.crt',
      'ca.key',
      'operator-token.sha256',
      'sealing.key',
      'service-account.key',
      'turn',
    ]);
  });

  it('stay when a home that shares them does not know the token', async () => {
    const pki = join(folder, 'pki');
    const open = (home: string, shared: string | undefined) =>
      openServerPki({ ...ALONE, home: openHome(join(folder, home)), pki: shared }, systemClock, systemIds);
    const first = await open('one', pki);
    const credential = await first.operatorCredential();
    assert.ok('token' in credential);
    const kubeconfig = join(folder, 'one', 'kubeconfig');
    writeAdminKubeconfig(kubeconfig, { server: 'https://127.0.0.1:1', caCert: first.pki.caCert, ...credential });
    assert.ok('cert' in (await (await open('two', pki)).operatorCredential()));
    const again = await open('one', pki);
    assert.deepEqual(await again.operatorCredential(), { token: tokenIn(kubeconfig) });
    // A folder of its own gets a new token with a new kubeconfig.
    rmSync(kubeconfig);
    assert.ok('token' in (await (await open('three', undefined)).operatorCredential()));
  });

  it('come with a leaf for every name that the server is reached by', async () => {
    const options = { listen: '0.0.0.0', advertise: 'https://api.example:7799', names: ['lb.example', '10.0.0.9'] };
    const home = openHome(join(folder, 'home'));
    const { pki } = await openServerPki({ ...options, home, pki: undefined }, systemClock, systemIds);
    const leaf = new X509Certificate((await pki.serverLeaf()).cert);
    for (const name of ['localhost', 'api.example', 'lb.example']) assert.equal(leaf.checkHost(name), name);
    for (const address of ['127.0.0.1', '::1', '10.0.0.9']) assert.equal(leaf.checkIP(address), address);
    assert.equal(leaf.checkIP('0.0.0.0'), undefined);
    const [listening, advertised] = ['10.1.2.3', 'https://[fd00::7]:7799'];
    const other = { listen: listening, advertise: advertised, names: [] };
    const again = await openServerPki({ ...other, home, pki: undefined }, systemClock, systemIds);
    const renewed = new X509Certificate((await again.pki.serverLeaf()).cert);
    for (const address of [listening, 'fd00::7']) assert.equal(renewed.checkIP(address), address);
    assert.equal(readFileSync(join(home.pki, 'apiserver.crt'), 'utf8').trim(), renewed.toString().trim());
  });
});

class Racer {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(home: string, pki: string) {
    this.#child = spawn(process.execPath, [RACER, home, pki], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  start(): void {
    this.#child.stdin.write('go\n');
  }

  async line(): Promise<string> {
    return String((await this.#lines.next()).value);
  }
}
