import './check-node.js';
import { existsSync } from 'node:fs';
import { keepCompiledCode } from './compiled-code.js';
import { importQuickly } from './quick-imports.js';

keepCompiledCode();
importQuickly();
// A checkout has the sources and always runs them, whatever lies in dist; a package has only dist.
const source = new URL('../cli/entry.ts', import.meta.url);
const entry = existsSync(source) ? source : new URL('../dist/cli/entry.js', import.meta.url);
const { main } = await import(entry.href);
await main();
