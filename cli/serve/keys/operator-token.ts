import { existsSync } from 'node:fs';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import { changeAdminKubeconfig } from '../../../apiserver/pki/admin-kubeconfig.ts';
import { KEY_FILES } from '../../../apiserver/pki/key-files.ts';
import { writeOperatorToken } from '../../../apiserver/pki/rotation.ts';
import { rfc3339 } from '../../../resources/ambient/clock.ts';
import { Failure } from '../../failure.ts';
import { printLine } from '../../io.ts';
import { everyServer, type Rotating } from './rotating.ts';

/** The old token is accepted for this long while the new one is put in its place, so that a crash in between locks nobody out. */
const IN_BETWEEN_MS = 60_000;

/** A new token for the operator: into the kubeconfig of the home, and nowhere else. */
export async function rotateOperatorToken(rotating: Rotating): Promise<void> {
  const { io, clock, ids, folder, options } = rotating;
  if (options.finish) throw new Failure('the operator’s token has no second step', { hint: 'leave out --finish' });
  if (!existsSync(folder.kubeconfig))
    throw new Failure(`${folder.kubeconfig} is not there to write the new token into`, {
      hint: 'name the home that has it with --home',
    });
  const place = { ...rotating, path: folder.path };
  const token = ids.secret(32);
  const keptUntilMs = options.keepOldMs === undefined ? undefined : clock.now() + options.keepOldMs;
  writeOperatorToken(place, token, keptUntilMs ?? clock.now() + IN_BETWEEN_MS);
  changeAdminKubeconfig(folder.kubeconfig, { token });
  if (keptUntilMs === undefined) writeOperatorToken(place, token, undefined);
  const old =
    keptUntilMs === undefined ? 'the old one is refused' : `the old one is accepted until ${rfc3339(keptUntilMs)}`;
  printLine(io, `wrote a new token into ${folder.kubeconfig}`);
  const fingerprint = KEY_FILES['operator-token'].fingerprint(tokenHash(token));
  const by = await everyServer(rotating, 'did not say that it knows the new token', ({ keys }) => {
    const [first, ...others] = keys['operator-token'] ?? [];
    return first === fingerprint && (keptUntilMs !== undefined || others.length === 0);
  });
  printLine(io, `accepted by ${by}; ${old}`);
}
