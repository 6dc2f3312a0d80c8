import type { Environment } from '@marcbachmann/cel-js';
import { type Charge, chargeText } from './charge.ts';
import { parseUrl, queryOf, UrlParts } from './url-parts.ts';

/** `url`, `isURL` and the parts of a URL (k8s.io/apiserver/pkg/cel/library). */
export function registerUrl(environment: Environment, charge: Charge): void {
  const U = 'kubernetes.URL';
  const part = (name: string, type: string, read: (url: UrlParts) => unknown) =>
    environment.registerFunction(`${U}.${name}(): ${type}`, read);
  environment
    .registerType(U, UrlParts)
    .registerOperator(`${U} == ${U}`, (a: UrlParts, b: UrlParts) => a.toString() === b.toString())
    .registerFunction(`url(string): ${U}`, (text: string) => {
      chargeText(charge, text);
      const url = parseUrl(text);
      if (url === undefined) throw new Error('URL parse error during conversion from string: invalid URI for request');
      return url;
    })
    .registerFunction('isURL(string): bool', (text: string) => {
      chargeText(charge, text);
      return parseUrl(text) !== undefined;
    });
  part('getScheme', 'string', (url) => url.scheme);
  part('getHost', 'string', (url) => url.host);
  part('getHostname', 'string', (url) => url.hostname);
  part('getPort', 'string', (url) => url.port);
  part('getEscapedPath', 'string', (url) => url.escapedPath);
  part('getQuery', 'map<string, list<string>>', (url) => {
    chargeText(charge, url.query);
    return queryOf(url);
  });
}
