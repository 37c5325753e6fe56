import { plugin } from 'bun';

/**
 * Gives every test as long as a loaded machine may need. Bun's own 5 s are for an idle one, bunfig.toml has no setting for
 * them, and a preload sets them for the first file only: so each file of tests is made to begin with setting them. What is
 * put in front has no end of line, so that errors keep their line numbers.
 */
const TIMEOUT_MS = 120_000;
const SETTING = `import { setDefaultTimeout as setTestTimeout } from 'bun:test'; setTestTimeout(${TIMEOUT_MS}); `;

plugin({
  name: 'test timeout',
  setup(build) {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      contents: SETTING + (await Bun.file(path).text()),
      loader: 'ts',
    }));
  },
});
