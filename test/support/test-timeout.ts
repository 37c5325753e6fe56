import { plugin } from 'bun';

/**
 * Gives every test enough time for a loaded machine. Bun's default of 5 s is for an idle one, bunfig.toml has no setting for it,
 * and a preload sets it for the first file only: so each test file gets a first statement that sets it. It has no line break, so
 * that errors keep their line numbers.
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
