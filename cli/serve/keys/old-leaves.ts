import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAuthorities } from '../../../apiserver/pki/authority-files.ts';
import type { KeyFolder } from './key-folder.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;
const MAX_FILES = 20_000;

/** The certificates that servers and hosts of a home show, and that the authority which issues now did not issue. */
export function leavesOf({ path, home }: Pick<KeyFolder, 'path' | 'home'>): readonly string[] {
  const authorities = readAuthorities(path);
  if (authorities === undefined) return [];
  const { publicKey } = new X509Certificate(authorities.issuing.cert);
  const served = [...new Set([path, join(home, 'pki')])].map((folder) => join(folder, 'apiserver.crt'));
  return [...served.filter(existsSync), ...hostCertificates(join(home, 'hosts'))].filter((file) => {
    const pem = CERTIFICATE.exec(readFileSync(file, 'utf8'))?.[0];
    return pem !== undefined && !new X509Certificate(pem).verify(publicKey);
  });
}

function hostCertificates(hosts: string): readonly string[] {
  if (!existsSync(hosts)) return [];
  return readdirSync(hosts, { recursive: true, encoding: 'utf8' })
    .slice(0, MAX_FILES)
    .filter((name) => /\.(crt|pem)$/.test(name) && !/(^|\/)ca[^/]*$/.test(name))
    .map((name) => join(hosts, name));
}
