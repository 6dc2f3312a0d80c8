import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import { listenTestServer, OPERATOR_TOKEN, startTestServer } from '../harness/server.ts';
import { difference, type Verdict, verdictOn } from './compare.ts';
import { KNOWN } from './known.ts';
import { runCase } from './run-case.ts';
import { readCases, type WireCase } from './wire-case.ts';
import { WireConnection } from './wire-connection.ts';

/** Cases wait more than they work; each lane has a server of its own, as some cases look at all namespaces. */
const LANES = 8;
/** Only the cases whose ids begin so, and what differs of them, wording too. */
const ONLY = process.env.WIRE_ONLY ?? '';

interface Outcome extends Verdict {
  readonly wireCase: WireCase;
  readonly got: readonly unknown[];
}

/** One server over TLS, and the cases it takes from the queue, one after another. */
async function lane(folder: string, letters: string, queue: WireCase[], done: (outcome: Outcome) => void) {
  await using test = await startTestServer();
  const text = readFileSync(join(import.meta.dirname, 'data/crds.yaml'), 'utf8');
  for (const definition of loadAll(text)) {
    await test.client.resource(CustomResourceDefinition).create(definition as CustomResourceDefinition);
  }
  await using listening = await listenTestServer(test, folder);
  const endpoint = { port: listening.listener.port, ca: listening.caCert, token: OPERATOR_TOKEN };
  using connection = new WireConnection(endpoint);
  for (let wireCase = queue.shift(); wireCase !== undefined; wireCase = queue.shift()) {
    const failed = (error: unknown) => [{ error: String(error) }];
    const got = await runCase(wireCase, connection, letters).catch(failed);
    done({ wireCase, got, ...verdictOn(wireCase, got) });
  }
}

/** What a real kube-apiserver answered to raw requests, asked of the real server. */
describe('recorded wire cases', function () {
  this.timeout(120_000);
  const files = Object.keys(KNOWN);
  const cases = new Map(
    files.map((file) => [file, readCases(`${file}.jsonl`).filter(({ id }) => id.startsWith(ONLY))]),
  );
  const outcomes = new Map<string, Outcome>();

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coppice-wire-'));
    try {
      const queue = [...cases.values()].flat();
      const done = (outcome: Outcome) => void outcomes.set(outcome.wireCase.id, outcome);
      const letters = Array.from({ length: LANES }, (_, i) => `bcd${'fghjklmnpqrstvwxz'[i]}`);
      await Promise.all(letters.map((each, i) => lane(join(folder, String(i)), each, queue, done)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  for (const file of files) {
    const known = KNOWN[file] ?? {};
    const all = cases.get(file) ?? [];
    it(`${file}: every case but ${Object.keys(known).length} of ${all.length} matches but for wording`, () => {
      const found = all.map(({ id }) => outcomes.get(id)).filter((each) => each !== undefined);
      assert.equal(found.length, all.length);
      const count = (holds: (outcome: Outcome) => boolean) => found.filter(holds).length;
      console.log(`      ${count((o) => o.exact)} exact, ${count((o) => o.near)} but for wording, of ${all.length}`);
      const told = ONLY === '' ? [] : found.filter(({ exact }) => !exact);
      for (const { wireCase, got } of told) console.log(difference(wireCase, got, true));
      const unexpected = found.filter(({ near, wireCase }) => !near && known[wireCase.id] === undefined);
      assert.deepEqual(
        unexpected.map(({ wireCase }) => wireCase.id),
        [],
        unexpected.map(({ wireCase, got }) => difference(wireCase, got)).join('\n'),
      );
      const now = found.filter(({ near, wireCase }) => near && known[wireCase.id] !== undefined);
      assert.deepEqual(
        now.map(({ wireCase }) => wireCase.id),
        [],
        'these cases match now: take them off the table',
      );
      const gone = Object.keys(known).filter((id) => id.startsWith(ONLY) && !all.some((each) => each.id === id));
      assert.deepEqual(gone, [], 'there are no such cases');
    });
  }
});
