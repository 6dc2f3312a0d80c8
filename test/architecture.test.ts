import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const ROOMS = ['resources', 'apiserver', 'controllers', 'nodelet', 'cli'] as const;

interface Source {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every TypeScript file of the rooms. */
function sources(): readonly Source[] {
  return ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
      .map((file) => {
        const path = join(room, file);
        return { path, text: readFileSync(join(ROOT, path), 'utf8') };
      }),
  );
}

/** What a file imports: a path from the root for ours, the bare name for others. Types count too, and imports at run time. */
function importsOf({ path, text }: Source): readonly string[] {
  const found = withoutComments(text).matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|^import\s+)(['"])([^'"\n]+)\1/gm);
  return [...found].map(([, , name = '']) =>
    name.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(path), name)) : name,
  );
}

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"`\\])\/\/.*$/gm, '$1');

const isOurs = (target: string) => ROOMS.some((room) => target.startsWith(`${room}/`));
const within = (target: string, ...folders: string[]) => folders.some((folder) => target.startsWith(`${folder}/`));
/** The duty a file belongs to; undefined for the runtime and what lists the duties. */
const dutyOf = (path: string) => /^controllers\/(?!runtime\/)([^/]+)\//.exec(path)?.[1];

/** Commands that run a part of the control plane, or work on its store and keys. */
const SERVING = /^cli\/commands\/(up|apiserver|controllers|nodelet|backup|restore|migrate-store|pki)([/.]|$)/;

/** Which of our files a file may import. */
function mayImport(path: string, target: string): boolean {
  if (within(path, 'resources')) return within(target, 'resources');
  if (within(path, 'apiserver/client')) return within(target, 'resources', 'apiserver/client');
  if (within(path, 'apiserver')) return within(target, 'resources', 'apiserver');
  if (within(path, 'controllers/runtime'))
    return within(target, 'resources', 'apiserver/client', 'controllers/runtime');
  if (within(path, 'controllers')) {
    if (!within(target, 'resources', 'apiserver/client', 'controllers')) return false;
    const [own, other] = [dutyOf(path), dutyOf(target)];
    return other === undefined
      ? own === undefined || within(target, 'controllers/runtime') || !within(target, 'controllers')
      : own === undefined || own === other;
  }
  if (within(path, 'nodelet')) return within(target, 'resources', 'apiserver/client', 'controllers/runtime', 'nodelet');
  // Only what serves or keeps a store starts the other rooms, and nothing else of the CLI gets at them through it.
  if (within(path, 'cli/up', 'cli/serve') || SERVING.test(path)) return true;
  if (within(target, 'resources', 'apiserver/client')) return true;
  if (within(target, 'cli')) return !within(target, 'cli/up', 'cli/serve');
  // Images are built on the machine one sits at; no server takes part in it.
  return path === 'cli/actions/images-build.ts' && within(target, 'nodelet/images');
}

/** Where time, chance and the process come in from outside; everywhere else they are handed in. */
const isEdge = (path: string) => within(path, 'resources/ambient', 'cli') || /(^|\/)main\.ts$/.test(path);
const AMBIENT: readonly (readonly [string, RegExp])[] = [
  ['Date.now', /\bDate\.now\b/],
  ['new Date()', /\bnew Date\(\s*\)/],
  ['Math.random', /\bMath\.random\b/],
  ['setTimeout', /(?<![.\w])setTimeout\s*\(/],
  ['setInterval', /(?<![.\w])setInterval\s*\(/],
  ['console', /(?<![.\w])console\.\w/],
  ['process.env', /\bprocess\.env\b/],
];

/** Code without what it says in comments and quotes. */
const codeOf = (text: string) => withoutComments(text).replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");

describe('the architecture', () => {
  const all = sources();
  const broken = (rule: (path: string, target: string) => boolean) =>
    all.flatMap((source) =>
      importsOf(source)
        .filter((target) => !rule(source.path, target))
        .map((target) => `${source.path} imports ${target}`),
    );

  it('is read from real files with real imports', () => {
    for (const room of ROOMS)
      assert.ok(
        all.some(({ path }) => within(path, room)),
        room,
      );
    assert.ok(all.flatMap(importsOf).filter(isOurs).length > 200);
  });

  it('has imports that point one way', () => {
    assert.deepEqual(
      broken((path, target) => !isOurs(target) || mayImport(path, target)),
      [],
    );
  });

  it('has no import of test or bench code in a room', () => {
    assert.deepEqual(
      broken((_, target) => !within(target, 'test', 'bench')),
      [],
    );
  });

  it('keeps the vocabulary and the client free of Node, so that a browser can load them', () => {
    const browser = (path: string) =>
      within(path, 'resources') || path === 'apiserver/client/client.ts' || path === 'apiserver/client/watch.ts';
    assert.deepEqual(
      broken((path, target) => !(browser(path) && target.startsWith('node:'))),
      [],
    );
  });

  it('lets time, chance and the process in at the edges only', () => {
    const found = all
      .filter(({ path }) => !isEdge(path))
      .flatMap(({ path, text }) =>
        AMBIENT.filter(([, pattern]) => pattern.test(codeOf(text))).map(([what]) => `${path} uses ${what}`),
      );
    assert.deepEqual(found, []);
  });

  it('has no file that only exports what others define', () => {
    const barrels = all.filter(({ text }) => /^export \* from/m.test(withoutComments(text)));
    assert.deepEqual(
      barrels.map(({ path }) => path),
      [],
    );
  });
});

describe('the rules of the architecture', () => {
  const cases: readonly [string, string, boolean][] = [
    ['resources/kinds/vm.ts', 'apiserver/client/client.ts', false],
    ['apiserver/client/client.ts', 'apiserver/app.ts', false],
    ['apiserver/app.ts', 'controllers/run.ts', false],
    ['controllers/runtime/queue.ts', 'controllers/tenant/decide.ts', false],
    ['controllers/tenant/decide.ts', 'controllers/image/decide.ts', false],
    ['controllers/tenant/decide.ts', 'controllers/run.ts', false],
    ['controllers/tenant/index.ts', 'controllers/runtime/queue.ts', true],
    ['controllers/tenant/index.ts', 'controllers/tenant/decide.ts', true],
    ['controllers/tenant/index.ts', 'resources/kinds/vm.ts', true],
    ['controllers/tenant/index.ts', 'apiserver/app.ts', false],
    ['controllers/duties.ts', 'controllers/tenant/index.ts', true],
    ['nodelet/plan.ts', 'controllers/runtime/queue.ts', true],
    ['nodelet/plan.ts', 'controllers/tenant/decide.ts', false],
    ['nodelet/plan.ts', 'apiserver/app.ts', false],
    ['cli/commands/get.ts', 'apiserver/client/client.ts', true],
    ['cli/commands/get.ts', 'nodelet/plan.ts', false],
    ['cli/commands/upgrade.ts', 'controllers/run.ts', false],
    ['cli/commands/up.ts', 'controllers/run.ts', true],
    ['cli/commands/up.ts', 'cli/up/up.ts', true],
    ['cli/commands/get.ts', 'cli/up/up.ts', false],
    ['cli/commands/get.ts', 'cli/serve/home.ts', false],
    ['cli/commands/apiserver.ts', 'cli/serve/home.ts', true],
    ['cli/serve/start-server.ts', 'apiserver/server.ts', true],
    ['nodelet/plan.ts', 'cli/commands/up.ts', false],
  ];
  for (const [path, target, allowed] of cases) {
    it(`${allowed ? 'let' : 'do not let'} ${path} import ${target}`, () =>
      assert.equal(mayImport(path, target), allowed));
  }
});
