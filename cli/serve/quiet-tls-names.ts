const NAME_IS_ADDRESS = 'DEP0123';
let quiet = false;

/**
 * Keeps one warning of Node's off stderr: etcd's client names the address it connects to, also where that is no name. Nobody who reads it can do
 * anything about it, and the certificate is checked all the same.
 */
export function quietTlsNames(): void {
  if (quiet) return;
  quiet = true;
  const emit = process.emitWarning.bind(process) as (...given: readonly unknown[]) => void;
  process.emitWarning = (...given: readonly unknown[]) => {
    if (!given.includes(NAME_IS_ADDRESS)) emit(...given);
  };
}
