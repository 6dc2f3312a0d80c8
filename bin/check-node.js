// Plain JavaScript that old versions of Node.js can run: it is what tells their users to get a newer one.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  console.error(`error: this is Node.js ${process.versions.node}; coppice needs 24.11 or newer`);
  console.error('hint: npm ci brings it along on Linux; on a Mac install Node.js 24');
  process.exit(1);
}
