import type { ResourceClient } from '../../apiserver/client/client.ts';
import { unless } from '../../apiserver/client/unless.ts';
import { ApiError } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject, jsonEqual, type KubeObject } from '../../resources/meta/object.ts';

type Action = 'created' | 'configured' | 'unchanged';

/** What is taken to define the cluster, and is applied first. */
const FIRST = ['CustomResourceDefinition', 'Namespace'];

const nameOf = ({ kind, metadata }: KubeObject) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

/**
 * What Flux's kustomize-controller asks of a server, in its order: in two stages (namespaces and definitions, then the rest), each object is dry-run by
 * server-side apply and what differs is applied; what is no longer among the objects is deleted in the reverse order of kinds, in the background; Argo CD does that in the foreground.
 */
export class FluxRun {
  readonly #at: (object: KubeObject) => ResourceClient<KubeObject>;

  constructor({ at }: { readonly at: (object: KubeObject) => ResourceClient<KubeObject> }) {
    this.#at = at;
  }

  async apply(objects: readonly KubeObject[]): Promise<Readonly<Record<string, Action>>> {
    const isFirst = ({ kind }: KubeObject) => FIRST.includes(kind);
    const stages = [objects.filter(isFirst), objects.filter((object) => !isFirst(object))];
    const actions: Record<string, Action> = {};
    for (const stage of stages) {
      const sorted = stage.toSorted(byKind);
      const found = await Promise.all(sorted.map((object) => this.#judged(object)));
      for (const [i, object] of sorted.entries()) {
        const action = found[i] ?? 'unchanged';
        actions[nameOf(object)] = action;
        if (action !== 'unchanged') await this.#send(object, false);
      }
    }
    return actions;
  }

  /** Deletes what is in `before` and not in `after`, and answers what was refused. */
  async collect(
    before: readonly KubeObject[],
    after: readonly KubeObject[],
    propagationPolicy: 'Background' | 'Foreground' = 'Background',
  ): Promise<readonly string[]> {
    const kept = new Set(after.map(nameOf));
    const refused: string[] = [];
    for (const object of before.filter((each) => !kept.has(nameOf(each))).sort((a, b) => byKind(b, a))) {
      const there = await this.#at(object).get(object.metadata.name).catch(unless('NotFound'));
      if (there === undefined) continue;
      try {
        await this.#at(object).delete(object.metadata.name, { propagationPolicy });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        // What went meanwhile, as a Namespace with its Tenant, is gone as was asked.
        if (error.reason !== 'NotFound') refused.push(`${nameOf(object)}: ${error.message}`);
      }
    }
    return refused;
  }

  async #judged(object: KubeObject): Promise<Action> {
    const there = await this.#at(object).get(object.metadata.name).catch(unless('NotFound'));
    const dry = await this.#send(object, true);
    if ((dry.metadata.resourceVersion ?? '') === '') return 'created';
    return jsonEqual(compared(dry), compared(there)) ? 'unchanged' : 'configured';
  }

  async #send(object: KubeObject, dryRun: boolean): Promise<KubeObject> {
    const options = {
      type: 'application/apply-patch+yaml',
      fieldManager: 'kustomize-controller',
      force: true,
    } as const;
    return this.#at(object).patch(object.metadata.name, object, { ...options, dryRun });
  }
}

/** What is looked at to tell drift. */
function compared(object: KubeObject | undefined): JsonObject {
  const { metadata, status: _, ...rest } = (object ?? {}) as KubeObject & { status?: unknown };
  const { labels, annotations } = metadata ?? {};
  return { ...rest, labels: isObject(labels) ? labels : {}, annotations: isObject(annotations) ? annotations : {} };
}

/** Namespaces first, the kinds of others by group and kind. */
function byKind(a: KubeObject, b: KubeObject): number {
  const rank = ({ kind }: KubeObject) => (FIRST.includes(kind) ? FIRST.indexOf(kind) : FIRST.length);
  const groupOf = ({ apiVersion }: KubeObject) => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');
  const key = (object: KubeObject) => `${groupOf(object)} ${object.kind} ${nameOf(object)}`;
  return rank(a) - rank(b) || (key(a) < key(b) ? -1 : 1);
}
