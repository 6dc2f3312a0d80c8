/** What stands in the texts of etcd and of the libraries that speak to it, and what that is in plain words. The first that is found counts. */
const WORDS: readonly (readonly [text: RegExp, words: string])[] = [
  [/ECONNREFUSED/, 'connection refused'],
  [/ENOTFOUND|EAI_AGAIN|Name resolution/, 'there is no such name'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no way to it'],
  [/certificate|self-signed|alert|SSL|altname/i, 'its certificate or ours is not trusted'],
  [/permission denied/, 'permission denied'],
  [
    /authentication failed|user name is empty|invalid auth token|authentication is not enabled/,
    'it does not know our user',
  ],
  [/no leader|leader changed/, 'it has no leader'],
  [/too many requests/, 'it has too much to do'],
  [
    /DEADLINE_EXCEEDED|no answer|no sign of life|in ten seconds|within ten seconds|timed out|ETIMEDOUT/i,
    'no answer in time',
  ],
  [/ECONNRESET|EPIPE|closed|dropped|broke|ended|No connection/i, 'the connection broke'],
];

/** A failure of a call to etcd in a few words without addresses, which are no concern of clients; undefined when it is none that is known. */
export function plainCause(message: string): string | undefined {
  return WORDS.find(([text]) => text.test(message))?.[1];
}
