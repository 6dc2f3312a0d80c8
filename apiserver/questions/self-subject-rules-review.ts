import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject } from '../../resources/meta/object.ts';
import type { Answerer } from '../verbs/answer.ts';
import { rulesOf } from './rules.ts';

/** What may I do in this namespace? */
export const selfSubjectRulesReview: Answerer = ({ kind, apiVersion, spec }, { parts, identity }) => {
  const namespace = isObject(spec) && typeof spec.namespace === 'string' ? spec.namespace : '';
  if (namespace === '') throw new ApiError('BadRequest', 'no namespace on request');
  return { kind, apiVersion, metadata: {}, spec: {}, status: rulesOf(identity, namespace, parts) };
};
