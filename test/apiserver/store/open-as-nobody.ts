/** Opens the store file of its argument as a user who owns nothing, and prints how that was refused. Started by root. */
import { openError } from '../../../apiserver/store/sqlite/errors.ts';
import { openFile } from '../../../apiserver/store/sqlite/open-file.ts';

const NOBODY = 65534;
const [path = ''] = process.argv.slice(2);

// Not before all is loaded: the sources may be root's alone.
process.setgroups?.([]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);
try {
  openFile(path, { uid: '00000000-0000-4000-8000-000000000000', revision: 0 }).close();
  process.stdout.write(JSON.stringify({ reason: 'none', message: 'it was opened' }));
} catch (error) {
  const { reason, message } = openError(error, path);
  process.stdout.write(JSON.stringify({ reason, message }));
}
