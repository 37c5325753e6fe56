"""Uses the package as the tests ask: python3 python_client.py SCENARIO JSON. Prints JSON. The service and the key are in the environment."""

import asyncio
import dataclasses
import inspect
import json
import os
import signal
import sys
import time
import types as modules
from datetime import datetime, timezone
from pathlib import Path

import bookreel
from bookreel import AsyncClient, Client

SLEPT = []


def record_pauses():
    """Pauses are over at once."""

    async def pause(seconds):
        if seconds:  # The event loop of httpx yields with 0.
            SLEPT.append(seconds)

    time.sleep = SLEPT.append
    asyncio.sleep = pause


def plain(value):
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if dataclasses.is_dataclass(value):
        return plain(vars(value))
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, Path):
        return None  # The clients write to different files.
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def failure(error):
    return {"error": type(error).__name__, "message": str(error), **{key: getattr(error, key, None) for key in ("code", "status", "request_id", "issues")}}


def ask(client, question):
    SLEPT.clear()
    try:
        answer = question(client)
        if isinstance(answer, bookreel.Series) or inspect.isgenerator(answer):
            answer = list(answer)
        return plain(answer)
    except bookreel.BookreelError as error:
        return failure(error)


async def ask_later(client, question):
    SLEPT.clear()
    try:
        answer = question(client)
        if inspect.isawaitable(answer):
            answer = await answer
        elif hasattr(answer, "__aiter__"):
            answer = [record async for record in answer]
        return plain(answer)
    except bookreel.BookreelError as error:
        return failure(error)


def everything(given):
    """Every operation."""
    market, at, directory = given["market"], given["at"], given["directory"]
    coin = market.split("/")[0]
    questions = {
        "coins": lambda c: c.coins(),
        "days": lambda c: c.days(coin, tf="15m"),
        "markets": lambda c: c.markets(coin, recorded=True, include="counts", page_size=2),
        "market": lambda c: c.market(market),
        "snapshots": lambda c: c.snapshots(market, page_size=70),
        "some": lambda c: c.snapshots(market, outcome="up", depth=1, order="desc", from_=datetime.fromtimestamp(at[0] / 1000, timezone.utc)),
        "book": lambda c: c.book_at(market, at[0]),
        "before": lambda c: c.book_at(market, at[0], "down", mode="before"),
        "books": lambda c: c.book_at(market, [*at, "2020-01-01"], mode="before"),
        "none": lambda c: c.book_at(market, "2020-01-01", mode="before"),
        "coverage": lambda c: c.coverage(market),
        "heatmap": lambda c: c.heatmap(market, columns=5),
        "stream": lambda c: c.stream(market, speed="max", depth=2),
        "prices": lambda c: c.prices(market),
        "coin_prices": lambda c: c.coin_prices(coin),
        "midpoints": lambda c: c.midpoints(coin, [market.split("/")[1]], points=3),
        "quotes": lambda c: c.quotes(market),
        "export": lambda c: c.export(market, f"{directory}/{type(c).__name__}.ndjson"),
        "tiers": lambda c: c.tiers(),
        "account": lambda c: c.account(),
        "usage": lambda c: c.usage(to="2026-01-02", interval="day"),
        "history": lambda c: c.history(),
        "chains": lambda c: c.chains(),
        "quote": lambda c: c.quote({"tierId": "pro", "network": "eip155:1", "tokenSymbol": "USDC"}),
        "settle": lambda c: c.settle({"xPaymentHeader": "e30=", "challenge": {}}),
        "upgrade": lambda c: c.upgrade("pro"),
        **{name: lambda c, name=name: getattr(c, name)() for name in given["texts"]},
        "manual": lambda c: c.manual("replay.md"),
    }
    return compared(questions)


def compared(questions):
    async def all_later():
        async with AsyncClient() as client:
            return {name: (await ask_later(client, question), list(SLEPT)) for name, question in questions.items()}

    with Client() as client:
        now = {name: (ask(client, question), list(SLEPT)) for name, question in questions.items()}
    later = asyncio.run(all_later())
    return {name: {"now": now[name][0], "later": later[name][0], "slept": now[name][1], "sleptLater": later[name][1]} for name in questions}


def cases(given):
    """A request of each of these methods and paths."""
    record_pauses()
    return compared({f"{method} {path}": lambda c, m=method, p=path: c._json(m, p, {}) for method, path in given})


def walk(given):
    record_pauses()
    market, directory, kind = given["market"], given.get("directory"), given["kind"]
    walks = {
        "snapshots": lambda c: c.snapshots(market, page_size=70),
        "stream": lambda c: c.stream(market, speed="max"),
        "export": lambda c: c.export(market, f"{directory}/{type(c).__name__}.{given.get('format')}"),
    }
    if given["client"] == "Client":
        with Client() as client:
            return ask(client, walks[kind])

    async def later():
        async with AsyncClient() as client:
            return await ask_later(client, walks[kind])

    return asyncio.run(later())


def frames(given):
    """The frames of pandas, and what polars and pyarrow are given: stand-ins take their places."""
    market = given["market"]
    polars, pyarrow, parquet = (modules.ModuleType(name) for name in ("polars", "pyarrow", "pyarrow.parquet"))
    polars.read_parquet = lambda file: {"parquet": len(file.read())}
    polars.DataFrame = lambda records, **_: {"records": len(records)}
    pyarrow.Table = modules.SimpleNamespace(from_pylist=polars.DataFrame)
    pyarrow.parquet, parquet.read_table = parquet, polars.read_parquet
    with Client() as client:
        snapshots = client.snapshots(market, outcome="up", depth=2)
        answer = {}
        if given["pandas"]:
            frame = snapshots.to_pandas()
            answer["pandas"] = {
                "type": str(frame["timestamp"].dtype),
                "rows": [[row.id, row.timestamp.isoformat(timespec="milliseconds"), row.bids, row.asks] for row in frame.itertuples()],
            }
        sys.modules.update({"polars": polars, "pyarrow": pyarrow, "pyarrow.parquet": parquet})
        answer["books"] = [snapshots.to_polars(), snapshots.to_arrow()]
        answer["wide"] = snapshots.to_polars(shape="wide")
        answer["exact"] = [snapshots.to_polars(numbers="decimal"), client.export(market, f"{given['directory']}/exact.arrow", type="quote", numbers="decimal").bytes]
        answer["trades"] = client.prices(market).to_polars(type="trade")
        answer["markets"] = [client.markets("btc").to_polars(), client.markets("btc").to_arrow()]
        for name, series in {"order": client.quotes(market, order="desc"), "table": client.markets("btc")}.items():
            try:
                series.to_polars(**({"shape": "wide"} if name == "table" else {}))
            except ValueError as error:
                answer[name] = str(error)
        return answer


def faults(given):
    """What both clients do with a key that is no header, with long lists of instants, with a compressed stream, and with the rest of another export."""
    answer = {}
    for name, key in {"line": "br_secret\n", "inside": "br_se\ncret", "letter": "br_secret\u2013"}.items():
        try:
            with Client(key, given["other"]) as client:
                answer[name] = client.coins()
        except Exception as error:
            answer[name] = str(error)
    with Client() as client:
        times = ["2026-01-08T10:31:40.400Z"] * 1000
        answer["books"] = [len(client.book_at("btc/0x" + 64 * "a", each)) for each in (times, [1767868300400] * 1000)]
        answer["stream"] = plain(list(client.stream("btc/market")))
        return answer


def kept(given):
    """Opens a local archive, interrupts its own group, asks, prints the address, and is killed."""
    os.setpgid(0, 0)
    client = Client.open(given["data"], executable=given["executable"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.killpg(0, signal.SIGINT)
    time.sleep(1)
    client.coins()
    print(json.dumps({"url": client.base_url}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def local(given):
    """A local archive, and a replay of it."""
    market = given["market"]
    with Client.open(given["data"], executable=given["executable"]) as client:
        book = client.book_at(market, given["at"], mode="before")
        with client.replay({"from": given["at"], "speed": 1}) as replay:
            replay.pause()
            replay.seek(given["at"])
            seen = replay.client.book_at(market, "2100-01-01", mode="before")
            states = [replay.show()["state"], replay.resume()["state"], replay.step()["state"]]
        pids = [process.pid for process in client._archive._processes]
        key = client._archive.key
    try:
        Client.open(f"{given['data']}/nothing", executable=given["executable"])
    except bookreel.ArchiveError as error:
        missing = str(error)
    try:
        Client.open(given["data"], executable="no-such-program")
    except bookreel.ArchiveError as error:
        program = str(error)
    return {"book": plain(book), "seen": plain(seen), "states": states, "pids": pids, "key": key, "missing": missing, "program": program}


if __name__ == "__main__":
    scenarios = {"everything": everything, "cases": cases, "walk": walk, "frames": frames, "faults": faults, "kept": kept, "local": local}
    print(json.dumps(scenarios[sys.argv[1]](json.loads(sys.argv[2]))))
