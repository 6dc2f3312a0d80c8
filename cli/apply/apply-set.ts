import { createHash } from 'node:crypto';
import { unless } from '../../apiserver/client/unless.ts';
import { isObject, type JsonObject, type KubeObject } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { type DiscoveredResource, discover } from '../discovery/discovery.ts';
import { resolveResource } from '../discovery/resolve.ts';
import { Failure, usage } from '../failure.ts';
import { listAll } from '../list-all.ts';
import { objectName } from '../render/name.ts';
import type { Session } from '../session.ts';
import type { PlacedObject } from './placed.ts';

const PREFIX = 'applyset.kubernetes.io/';
const ID = `${PREFIX}id`;
const PART_OF = `${PREFIX}part-of`;
const TOOLING = `${PREFIX}tooling`;
const KINDS = `${PREFIX}contains-group-kinds`;
const NAMESPACES = `${PREFIX}additional-namespaces`;
const MANAGER = 'coppice-applyset';

/** An object that belongs to a set. */
export interface Member {
  readonly resource: DiscoveredResource;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly object: KubeObject;
}

/**
 * A set of objects that were applied together, as Kubernetes has it (KEP-3659): each carries the id of the set in a label, and a parent object remembers their
 * kinds and namespaces, so that what is no longer applied can be found. One set is kept by one program.
 */
export class ApplySet {
  readonly #session: Session;
  readonly #all: readonly DiscoveredResource[];
  readonly #parent: Omit<Member, 'object'>;
  readonly #annotations: Readonly<Record<string, string>>;
  readonly id: string;

  private constructor(
    session: Session,
    all: readonly DiscoveredResource[],
    parent: Omit<Member, 'object'>,
    annotations: Readonly<Record<string, string>>,
  ) {
    this.#session = session;
    this.#all = all;
    this.#parent = parent;
    this.#annotations = annotations;
    const { kind, group } = parent.resource;
    this.id = idOf(parent.name, parent.namespace ?? '', kind, group);
  }

  /** The set of a parent, `[RESOURCE[.GROUP]/]NAME`. A ConfigMap or Secret need not be there yet; it is in the namespace of the session, which has to be given for a NAME alone. */
  static async open(session: Session, reference: string): Promise<ApplySet> {
    const [name = '', word = 'secrets'] = reference.split('/').toReversed();
    if (name === '' || reference.split('/').length > 2)
      throw usage(`--applyset takes [RESOURCE/]NAME, such as configmaps/fleet, and not "${reference}"`, 'apply');
    if (!reference.includes('/') && !session.namespaceGiven)
      throw usage(
        `--applyset ${name} is the Secret of that name: say in which namespace with -n, or name another parent, such as configmaps/${name}`,
        'apply',
      );
    const all = await discover(session.client, session.io.signal);
    const resource = resolveResource(all, word);
    const namespace = resource.namespaced ? session.namespace : undefined;
    const { client, io } = session;
    const there = await client.resource(resource, namespace).get(name, io.signal).catch(unless('NotFound'));
    const own = resource.group === '' && ['configmaps', 'secrets'].includes(resource.plural);
    if (there === undefined && !own)
      throw new Failure(`${objectName(resource, name)} is not there; only a ConfigMap or a Secret is made by itself`);
    return new ApplySet(session, all, { resource, namespace, name }, there?.metadata.annotations ?? {});
  }

  /** Throws where another program keeps the set. */
  assertOurs(): void {
    const keeper = this.#annotations[TOOLING];
    if (keeper === undefined || keeper.startsWith('coppice/')) return;
    const name = objectName(this.#parent.resource, this.#parent.name);
    throw new Failure(`the set of ${name} is kept by ${keeper}`, {
      hint: `prune with that, or with a parent of another name; coppice plan --prune reads it all the same`,
    });
  }

  /** The object with the label of the set. */
  readonly labelled = (placed: PlacedObject): PlacedObject => {
    const metadata = isObject(placed.object.metadata) ? placed.object.metadata : {};
    const labels = { ...(isObject(metadata.labels) ? metadata.labels : {}), [PART_OF]: this.id };
    return { ...placed, object: { ...placed.object, metadata: { ...metadata, labels } } };
  };

  /** Writes down what the set is made of: with what it was made of before (`superset`), so that nothing is lost on the way, or as it is. */
  async remember(objects: readonly PlacedObject[], superset: boolean, dryRun: boolean): Promise<void> {
    const { resource, namespace, name } = this.#parent;
    const kinds = objects.map((placed) => groupKind(placed.resource));
    const namespaces = objects.flatMap((placed) => placed.namespace ?? []).filter((each) => each !== namespace);
    const before = superset ? { kinds: this.#list(KINDS), namespaces: this.#list(NAMESPACES) } : undefined;
    const annotations = {
      [TOOLING]: 'coppice/v1',
      [KINDS]: joined([...kinds, ...(before?.kinds ?? [])]),
      [NAMESPACES]: joined([...namespaces, ...(before?.namespaces ?? [])]),
    };
    const metadata: JsonObject = { name, annotations, labels: { [ID]: this.id } };
    if (namespace !== undefined) metadata.namespace = namespace;
    const parent = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
    const options = { type: 'application/apply-patch+yaml', fieldManager: MANAGER, force: true, dryRun } as const;
    await this.#session.client.resource(resource, namespace).patch(name, parent, options, this.#session.io.signal);
  }

  /** Members of the set that are not among these objects, in the order in which they can go: what a Tenant lives in comes last. */
  async strays(objects: readonly PlacedObject[]): Promise<readonly Member[]> {
    const kept = new Set(objects.map(({ resource, namespace, name }) => keyOf({ resource, namespace, name })));
    const found: Member[] = [];
    for (const kind of this.#list(KINDS)) {
      const resource = this.#all.find((each) => each.preferred && groupKind(each) === kind);
      if (resource === undefined) continue;
      for (const namespace of resource.namespaced ? this.#namespaces() : [undefined])
        found.push(...(await this.#members(resource, namespace)));
    }
    return found.filter((member) => !kept.has(keyOf(member))).sort((a, b) => rankOf(a) - rankOf(b));
  }

  async #members(resource: DiscoveredResource, namespace: string | undefined): Promise<readonly Member[]> {
    const { client, io } = this.#session;
    const objects = client.resource(resource, namespace);
    const { items } = await listAll(objects, { labelSelector: `${PART_OF}=${this.id}` }, io.signal);
    return items.map((object) => ({ resource, namespace, name: object.metadata.name, object }));
  }

  #namespaces(): readonly string[] {
    const own = this.#parent.namespace;
    return [...new Set([...this.#list(NAMESPACES), ...(own === undefined ? [] : [own])])];
  }

  #list(annotation: string): readonly string[] {
    return (this.#annotations[annotation] ?? '').split(',').filter((each) => each !== '');
  }
}

function idOf(...parts: readonly string[]): string {
  return `applyset-${createHash('sha256').update(parts.join('.')).digest('base64url')}-v1`;
}

const groupKind = ({ group, kind }: DiscoveredResource): string => (group === '' ? kind : `${kind}.${group}`);
const joined = (texts: readonly string[]): string => [...new Set(texts)].sort().join(',');

function keyOf({ resource, namespace, name }: Omit<Member, 'object'>): string {
  return `${groupKind(resource)} ${namespace ?? ''} ${name}`;
}

/** Objects of namespaces go before those of the cluster; a Namespace goes with its Tenant or after it. */
function rankOf({ resource }: Member): number {
  if (resource.group === '' && resource.kind === 'Namespace') return 3;
  if (resource.group === 'coppice.dev' && resource.kind === 'Tenant') return 2;
  return resource.namespaced ? 0 : 1;
}
