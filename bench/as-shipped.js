// Loaded before a measured program: what bin/run.js does before it loads ours.
import { importQuickly } from '../bin/quick-imports.js';

importQuickly();
