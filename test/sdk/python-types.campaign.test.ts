import { expect, test } from 'bun:test';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { finished } from '../support/executable.ts';
import { installWheel, PYTHON, pythonWith } from './python.ts';

/** A user's program with three mistakes: both checkers must find these, and nothing else. */
const USED = `
import asyncio
from datetime import datetime, timezone
from bookreel import AsyncClient, Client
from bookreel.errors import NotFoundError

client = Client("br_live_x", "http://127.0.0.1:8080")
bid: float | None = client.book_at("btc/x", datetime.now(timezone.utc), mode="before").best_bid
books = client.book_at("btc/x", [1, 2])
prices: list[float] = [level["price"] for book in books if book is not None for level in book.asks]
names: list[str] = [market["slug"] for market in client.markets("btc", tf="5m", recorded=True)]
for event in client.stream(names[0], speed="max"):
    if event.snapshot is not None:
        print(event.snapshot["bids"][0]["size"])
with Client.open("archive") as local, local.replay({"coins": ["btc"], "from": 0, "speed": "max"}) as replay:
    print(replay.client.coverage("btc/x")["gapCount"], replay.step()["now"])


async def later() -> int:
    async with AsyncClient() as service:
        return len([quote["bidPrice"] async for quote in service.quotes("btc/x")])


print(asyncio.run(later()), NotFoundError.code)
`;
const MISTAKES = [
  'client.book_at("btc/x", [1]).best_bid',
  'client.snapshots("btc/x", outcome="sideways")',
  'client.coverage("btc/x")["nothing"]',
];
const PATH = { PATH: Bun.env.PATH! };

const directory = temporaryDirectory();
test.skipIf(PYTHON === undefined)(
  'mypy --strict and pyright find nothing in the Python package, and every mistake in its use.',
  async () => {
    const installed = await installWheel(directory.path);
    const checked = join(directory.path, 'checked');
    mkdirSync(checked);
    cpSync(join(installed, 'bookreel'), join(checked, 'bookreel'), { recursive: true });
    writeFileSync(join(checked, 'used.py'), USED);
    MISTAKES.forEach((mistake, i) => {
      writeFileSync(
        join(checked, `mistake${i}.py`),
        `from bookreel import Client\nclient = Client()\nprint(${mistake})\n`,
      );
    });
    const wrong = MISTAKES.map((_, i) => `mistake${i}.py`);

    const mypy = pythonWith('mypy', 'httpx');
    if (mypy === undefined) console.warn('skipped: no python3 has mypy and httpx');
    else {
      const missing = '[mypy-polars.*,pandas.*,pyarrow.*]\nignore_missing_imports = True\n';
      writeFileSync(join(checked, 'mypy.ini'), `[mypy]\nstrict = True\npython_version = 3.10\n${missing}`);
      const { stdout } = await finished([mypy, '-m', 'mypy', '.'], { cwd: checked, env: PATH });
      expect(errorsIn(stdout)).toEqual(wrong);
    }

    const places = await finished([PYTHON!, '-c', 'import httpx; print(httpx.__path__[0])'], { env: PATH });
    const lenient = [
      'PrivateUsage',
      'UnknownMemberType',
      'UnknownVariableType',
      'UnknownParameterType',
      'UnknownArgumentType',
      'MissingImports',
      'MissingModuleSource',
    ];
    const config = {
      typeCheckingMode: 'strict',
      pythonVersion: '3.10',
      extraPaths: [join(places.stdout.trim(), '..')],
      // polars and pyarrow may be missing, and pandas has no types of its own.
      ...Object.fromEntries(lenient.map((rule) => [`report${rule}`, false])),
    };
    writeFileSync(join(checked, 'pyrightconfig.json'), JSON.stringify(config));
    const pyright = join(import.meta.dir, '..', '..', 'node_modules', 'pyright', 'index.js');
    const { stdout } = await finished([process.execPath, pyright, '-p', checked], { env: PATH });
    expect(errorsIn(stdout)).toEqual(wrong);
  },
  300_000,
);

/** The files with an error, a line each; anything else that a checker found is not among them. */
function errorsIn(output: string): string[] {
  const lines = output.split('\n').filter((line) => line.includes('error:') || line.includes(' - error'));
  return [
    ...new Set(lines.map((line) => /([\w/]+\.py):\d+/.exec(line)?.[1]?.split('/').slice(-1)[0] ?? line)),
  ].toSorted();
}
