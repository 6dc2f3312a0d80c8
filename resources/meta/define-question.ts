import { defineKind, type Kind } from './define-kind.ts';
import type { Schema } from './schema.ts';

/** One of Kubernetes' questions, version v1: a create is answered with the question and its status, and nothing is kept. */
export function defineQuestion(declared: {
  readonly group: string;
  readonly kind: string;
  readonly namespaced?: boolean;
  readonly schema: Schema;
}): Kind {
  return defineKind({
    namespaced: false,
    ...declared,
    version: 'v1',
    plural: `${declared.kind.toLowerCase()}s`,
    stored: false,
    verbs: ['create'],
    generations: false,
    origin: 'core',
  });
}
