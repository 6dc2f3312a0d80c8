import type { Secret } from '../kinds/secret.ts';
import type { Cause } from '../meta/api-error.ts';
import { decodeBase64 } from '../meta/base64.ts';
import { invalidField, requiredField } from '../meta/field-causes.ts';
import { parseJson } from '../meta/json.ts';
import { JsonSyntaxError } from '../meta/json-syntax-error.ts';

const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
const HIDDEN = '<secret contents redacted>';

type Check = (secret: Secret) => Cause[];

const missing = ({ data = {} }: Secret, key: string) =>
  Object.hasOwn(data, key) ? [] : [requiredField(`data[${key}]`)];

const json =
  (key: string): Check =>
  (secret) => {
    const text = secret.data?.[key];
    return text === undefined ? missing(secret, key) : jsonCauses(`data[${key}]`, text);
  };

/** What the types of Secrets that Kubernetes knows ask for (k8s.io/api/core/v1, SecretType); no value is ever told. */
const CHECKS: Readonly<Record<string, Check>> = {
  'kubernetes.io/service-account-token': ({ metadata }) =>
    (metadata.annotations?.[ACCOUNT_NAME] ?? '') === '' ? [requiredField(`metadata.annotations[${ACCOUNT_NAME}]`)] : [],
  'kubernetes.io/dockercfg': json('.dockercfg'),
  'kubernetes.io/dockerconfigjson': json('.dockerconfigjson'),
  'kubernetes.io/basic-auth': (secret) => {
    const both = [...missing(secret, 'username'), ...missing(secret, 'password')];
    return both.length === 2 ? both : [];
  },
  'kubernetes.io/ssh-auth': ({ data }) =>
    (data?.['ssh-privatekey'] ?? '') === '' ? [requiredField('data[ssh-privatekey]')] : [],
  'kubernetes.io/tls': (secret) => [...missing(secret, 'tls.crt'), ...missing(secret, 'tls.key')],
};

/** What is wrong with a Secret for its type. */
export function secretTypeCauses(secret: Secret): Cause[] {
  const { type = '' } = secret;
  return (Object.hasOwn(CHECKS, type) ? CHECKS[type] : undefined)?.(secret) ?? [];
}

function jsonCauses(field: string, base64: string): Cause[] {
  const text = new TextDecoder().decode(decodeBase64(base64));
  try {
    parseJson(text);
    return [];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const ended = text.trim() === '' || error.message.includes('unexpected end');
    return [invalidField(field, HIDDEN, ended ? 'unexpected end of JSON input' : 'is not valid JSON')];
  }
}
