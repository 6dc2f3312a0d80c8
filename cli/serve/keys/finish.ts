import { KEY_FILES } from '../../../apiserver/pki/key-files.ts';
import { dropOld, keysOf, phaseOf, type Successive } from '../../../apiserver/pki/rotation.ts';
import { Failure } from '../../failure.ts';
import { printLine } from '../../io.ts';
import { leavesOf } from './old-leaves.ts';
import { everyHost, everyServer, type Rotating, reportsDeps, trustInKubeconfig } from './rotating.ts';
import { serverReports } from './server-reports.ts';

/** Drops the old key, when nothing needs it any more. */
export async function finish(rotating: Rotating, what: Successive): Promise<void> {
  const { io, folder } = rotating;
  const place = { ...rotating, path: folder.path };
  const phase = phaseOf(place, what);
  if (phase === 'settled') return confirm(rotating, what);
  if (phase === 'trusted')
    throw new Failure(`the new ${what} is not used yet`, { hint: `first: coppice pki rotate ${what}` });
  const [current, ...old] = keysOf(place, what).map(({ text }) => KEY_FILES[what].fingerprint(text));
  await everyServer(rotating, `did not say that it uses the new ${what}`, ({ keys }) => keys[what]?.[0] === current);
  await CHECKS[what](rotating);
  dropOld(place, what);
  if (what === 'ca') trustInKubeconfig(folder);
  printLine(io, `dropped ${what} ${old.join(', ')}`);
  await confirm(rotating, what);
}

/** Waits until every server trusts the one key there is, and no other. */
async function confirm(rotating: Rotating, what: Successive): Promise<void> {
  const place = { ...rotating, path: rotating.folder.path };
  // What an earlier run left when it was stopped.
  dropOld(place, what);
  const [only] = keysOf(place, what).map(({ text }) => KEY_FILES[what].fingerprint(text));
  const by = await everyServer(
    rotating,
    `still trusts another ${what}`,
    ({ keys }) => keys[what]?.length === 1 && keys[what]?.[0] === only,
  );
  printLine(rotating.io, `only ${what} ${only} is trusted by ${by}`);
}

/** Throws a `Failure` where the old one is still needed. */
const CHECKS: Readonly<Record<Successive, (rotating: Rotating) => Promise<void>>> = {
  async ca(rotating) {
    const { folder, options } = rotating;
    await everyHost(rotating);
    const leaves = leavesOf(folder);
    if (leaves.length === 0 || options.force) return;
    throw new Failure(`of the old authority there still are: ${leaves.join(', ')}`, {
      hint: 'servers and hosts renew theirs when they connect again; --force drops it nevertheless, and they are refused then',
    });
  },
  async 'service-account-key'(rotating) {
    const { options, clock } = rotating;
    if (options.force) return;
    if (options.offline)
      throw new Failure('only servers know when the tokens end that the old key signed', {
        hint: 'run this while one runs, or add --force',
      });
    const reports = await serverReports(reportsDeps(rotating));
    const ends = reports.flatMap(({ lastOldToken }) => (lastOldToken === null ? [] : [lastOldToken])).sort();
    const last = ends.at(-1);
    if (last === undefined || Date.parse(last) <= clock.now()) return;
    throw new Failure(`tokens that the old key signed are good until ${last}`, {
      hint: 'run this then; --force drops the key now, and with it every one of them',
    });
  },
  async 'sealing-key'(rotating) {
    if (rotating.options.offline)
      throw new Failure('only servers know whether anything is sealed with the old key', {
        hint: 'run this while one runs: what is sealed with a key that is gone cannot be opened by anybody',
      });
    await everyServer(rotating, 'did not say that nothing is sealed with the old key', ({ behind }) => behind === 0);
  },
};
