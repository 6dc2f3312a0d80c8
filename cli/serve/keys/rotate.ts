import { join } from 'node:path';
import { KEY_FILES, ROTATABLE, type Rotatable } from '../../../apiserver/pki/key-files.ts';
import { addNext, keysOf, phaseOf, type Successive, useNext } from '../../../apiserver/pki/rotation.ts';
import type { Clock } from '../../../resources/ambient/clock.ts';
import type { Ids } from '../../../resources/ambient/ids.ts';
import { Failure, usage } from '../../failure.ts';
import { type Io, printLine } from '../../io.ts';
import { takeTurn } from '../turn.ts';
import { finish } from './finish.ts';
import { keyFolderOf, readingKeys } from './key-folder.ts';
import { rotateOperatorToken } from './operator-token.ts';
import { everyHost, everyServer, type RotateOptions, type Rotating, trustInKubeconfig } from './rotating.ts';

/** Changes keys, one sort after the other. Each step can be the last before a crash: the same command goes on from there. */
export async function rotate(
  io: Io,
  options: RotateOptions,
  deps: { readonly clock: Clock; readonly ids: Ids },
): Promise<void> {
  const sorts = options.what.map(rotatable);
  if (sorts.length === 0) throw usage(`name what to change: ${ROTATABLE.join(', ')}`, 'pki rotate');
  const folder = keyFolderOf(io, options);
  const rotating = { io, ...deps, folder, options };
  using _turn = await takeTurn(join(folder.path, 'rotate.turn'), deps.clock).catch(otherChange);
  await readingKeys(async () => {
    for (const what of sorts) {
      if (what === 'operator-token') await rotateOperatorToken(rotating);
      else if (options.finish) await finish(rotating, what);
      else await succeed(rotating, what);
    }
  });
}

function otherChange(cause: unknown): never {
  throw new Failure('the keys of this folder are being changed by another command', { hint: 'let it end', cause });
}

function rotatable(word: string): Rotatable {
  const what = ROTATABLE.find((name) => name === word);
  if (what === undefined) throw usage(`there is no "${word}" to change, only ${ROTATABLE.join(', ')}`, 'pki rotate');
  return what;
}

/** Adds the next key, has every server trust it, and then has it used. */
async function succeed(rotating: Rotating, what: Successive): Promise<void> {
  const { io, options, folder } = rotating;
  const place = { ...rotating, path: folder.path };
  const phase = phaseOf(place, what);
  if (phase === 'switched')
    throw new Failure(`the change of ${what} before this one is not finished: the old one is still trusted`, {
      hint: `finish it first: coppice pki rotate ${what} --finish`,
    });
  if (phase === 'settled') await addNext(place, what);
  if (what === 'ca') trustInKubeconfig(folder);
  const next = keysOf(place, what).find((entry) => entry.next === true);
  const fingerprint = KEY_FILES[what].fingerprint(next?.text ?? '');
  printLine(
    io,
    `1. ${phase === 'settled' ? 'added' : 'there already is'} ${what} ${fingerprint}: trusted beside the old one, and not used yet`,
  );
  const trusting = await everyServer(rotating, `did not say that it trusts the new ${what}`, (report) =>
    (report.keys[what] ?? []).includes(fingerprint),
  );
  if (what === 'ca') await everyHost(rotating);
  printLine(io, `2. trusted by ${trusting}${what === 'ca' ? ', and by every host' : ''}`);
  if (options.trustOnly) return printLine(io, `when whoever needs it has it, use it: coppice pki rotate ${what}`);
  useNext(place, what);
  const using = await everyServer(
    rotating,
    `did not say that it uses the new ${what}`,
    (report) => report.keys[what]?.[0] === fingerprint,
  );
  printLine(io, `3. used by ${using}`);
  printLine(io, `${AFTERWARDS[what]}: coppice pki rotate ${what} --finish`);
}

const AFTERWARDS: Readonly<Record<Successive, string>> = {
  ca: 'when every kubeconfig and every host has both authorities, trust the old one no more',
  'service-account-key': 'when the tokens that the old one signed have ended, trust it no more',
  'sealing-key': 'when everything is sealed with the new one, which servers see to now, drop the old one',
};
