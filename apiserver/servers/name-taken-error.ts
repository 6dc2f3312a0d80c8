/** Another API server that runs is called the same. */
export class NameTakenError extends Error {
  readonly serverName: string;

  constructor(serverName: string, address: string | undefined) {
    super(`another API server is called ${serverName}${address === undefined ? '' : `, at ${address}`}`);
    this.name = 'NameTakenError';
    this.serverName = serverName;
  }
}
