/** The Kubernetes version this server speaks. Some kubectl builds run the client of the minor they are told. */
export const GIT_VERSION = 'v1.32.5+coppice';

/** What `/version` says; all strings (k8s.io/apimachinery/pkg/version). */
export interface ServerVersion {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** `/version` of a server on this platform (`linux/amd64`) and run by this runtime (`v24.11.0`). */
export function serverVersion(of: { readonly platform: string; readonly runtime: string }): ServerVersion {
  return {
    major: '1',
    minor: '32',
    gitVersion: GIT_VERSION,
    gitCommit: '',
    gitTreeState: '',
    // Kubernetes' own mark for a build that carries no date.
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node ${of.runtime}`,
    compiler: 'node',
    platform: of.platform,
  };
}
