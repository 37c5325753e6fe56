"""The asynchronous client. `_sync.py` is made of this file: change only this one."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncGenerator, AsyncIterator, Generic, Literal, Mapping, TypeVar, Union, cast, get_args, overload

import httpx

from . import _core, errors
from ._async_operations import AsyncOperations
from ._core import (
    Attempts, Book, ConnectionLostError, DamagedError, EventReader, ExportedFile, Instant, MarketName, NoBookError, PartialFile, Query, StreamEvent,
)
from ._local import LocalArchive
from .types import Replay, ReplayChange, ReplayRequest

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

T = TypeVar("T")
Mode = Literal["before", "nearest", "after"]
Instants = Union[list[int], list[str], list[datetime], list[Instant]]
Outcome = Literal["up", "down"]
Shape = Literal["books", "wide", "levels"]
Table = Literal["snapshot", "quote", "price", "trade"]
Format = Literal["ndjson", "msgpack", "csv", "parquet", "arrow", "segments"]
Numbers = Literal["double", "decimal"]
SUFFIXES: dict[str, Format] = {f".{name}": name for name in get_args(Format)}
#: Parameters of a page that an export does not have, or that only change how a walk is cut into pages.
PAGING = ("limit", "include")


class AsyncSeries(Generic[T]):
    """Records in the order of the service, page by page as they are needed; or all of them as a frame, by one request."""

    def __init__(self, client: AsyncClient, path: str, query: Query, table: Table | None) -> None:
        self._client, self._path, self._query, self._table = client, path, query, table

    async def __aiter__(self) -> AsyncIterator[T]:
        query: Query | None = self._query
        seen: set[object] = set()
        while query is not None:
            answer = (await self._client.request("GET", self._path, query)).json()
            for record in answer["data"]:
                if "pagination" in answer:
                    # A market that is listed during the walk moves others to the next page.
                    if record["conditionId"] in seen:
                        continue
                    seen.add(record["conditionId"])
                yield record
            query = _core.following(query, answer)

    async def all(self) -> list[T]:
        return [record async for record in self]

    async def to_polars(self, *, shape: Shape | None = None, type: Table | None = None, numbers: Numbers | None = None) -> polars.DataFrame:
        """Needs polars. `shape` is for snapshots: books (a row each, the default), wide or levels. `type="trade"`: the trades of prices(). `numbers="decimal"`: exact."""
        import polars

        parquet = await self._parquet(shape, type, numbers)
        if parquet is None:
            return polars.DataFrame(await self.all(), infer_schema_length=None)
        return polars.read_parquet(BytesIO(parquet))

    async def to_arrow(self, *, shape: Shape | None = None, type: Table | None = None, numbers: Numbers | None = None) -> pyarrow.Table:
        """Needs pyarrow. As `to_polars`."""
        import pyarrow
        import pyarrow.parquet

        parquet = await self._parquet(shape, type, numbers)
        return pyarrow.Table.from_pylist(await self.all()) if parquet is None else pyarrow.parquet.read_table(BytesIO(parquet))

    async def to_pandas(self, *, shape: Shape | None = None, type: Table | None = None, numbers: Numbers | None = None) -> pandas.DataFrame:
        """
        Needs pandas. As `to_polars` with pyarrow or fastparquet. Without them, and without `shape`, `type` and `numbers`, the frame is made of pages: the
        same records, with the columns that these have.
        """
        import pandas

        parquet = await self._parquet(shape, type, numbers) if shape or type or numbers or find_spec("pyarrow") or find_spec("fastparquet") else None
        if parquet is not None:
            return pandas.read_parquet(BytesIO(parquet))
        frame: Any = pandas.DataFrame(await self.all())
        for name in ("timestamp", "receivedAt"):
            if name in frame:
                frame[name] = pandas.to_datetime(frame[name], utc=True)
        return cast("pandas.DataFrame", frame)

    async def _parquet(self, shape: Shape | None, type: Table | None, numbers: Numbers | None) -> bytes | None:
        """None if the service exports no such records."""
        if self._table is None:
            if shape or type or numbers:
                raise ValueError("shape, type and numbers are for snapshots, quotes and prices of a market")
            return None
        query = {name: value for name, value in self._query.items() if value is not None and name not in PAGING}
        refused = {"order", "asOfReceived"} & set(query)
        if refused:
            raise ValueError(f"a frame has no {', '.join(sorted(refused))}: leave it out, or make the frame of all()")
        table = {"format": "parquet", "type": type or self._table, "shape": shape, "numbers": numbers}
        return (await self._client.request("GET", f"{self._path.rpartition('/')[0]}/export", {**query, **table})).content


class AsyncClient(AsyncOperations):
    """
    A client of a bookreel service. `key` and `base_url` are by default those of the variables BOOKREEL_KEY and BOOKREEL_URL; without these, no key
    and http://127.0.0.1:8080. After 429 it waits for Retry-After, after 502 to 504 and lost connections it tries three times in all.
    """

    def __init__(self, key: str | None = None, base_url: str | None = None) -> None:
        self.base_url = (base_url or os.environ.get("BOOKREEL_URL") or _core.DEFAULT_URL).rstrip("/")
        self._key = _core.checked_key(key or os.environ.get("BOOKREEL_KEY"))
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._http = httpx.AsyncClient(base_url=self.base_url, headers={**headers, "Accept": "application/json, */*"}, timeout=_core.TIMEOUT)
        self._archive: LocalArchive | None = None

    @classmethod
    async def open(cls, path: str | os.PathLike[str], *, executable: str = "bookreel", tier: str = "enterprise") -> AsyncClient:
        """A client of the archive in a data directory. The executable `bookreel` serves it on this machine until `close`."""
        archive = await asyncio.to_thread(LocalArchive, path, executable, tier)
        client = cls(archive.key, archive.url)
        client._archive = archive
        return client

    async def close(self) -> None:
        await self._http.aclose()
        if self._archive is not None:
            await asyncio.to_thread(self._archive.close)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def request(self, method: str, path: str, query: Query = {}, *, body: object = None, headers: Mapping[str, str] = {}) -> httpx.Response:
        """The whole answer to any request. Raises an ApiError for a status of 400 and above."""
        return await self._send(method, path, query, body, headers, Attempts(method))

    @overload
    async def book_at(
        self, market: MarketName, at: Instant, outcome: Outcome = ..., *, mode: Mode = ..., max_distance: int | None = ...,
        depth: int | None = ..., as_of: Instant | None = ..., as_of_received: Instant | None = ...,
    ) -> Book: ...

    @overload
    async def book_at(
        self, market: MarketName, at: Instants, outcome: Outcome = ..., *, mode: Mode = ..., max_distance: int | None = ...,
        depth: int | None = ..., as_of: Instant | None = ..., as_of_received: Instant | None = ...,
    ) -> list[Book | None]: ...

    async def book_at(
        self, market: MarketName, at: Instant | Instants, outcome: Outcome = "up", *, mode: Mode = "nearest", max_distance: int | None = None,
        depth: int | None = None, as_of: Instant | None = None, as_of_received: Instant | None = None,
    ) -> Book | list[Book | None]:
        """
        The book of an outcome nearest to an instant. `mode="before"` never looks ahead: the last one at or before the instant. `max_distance` is in
        milliseconds. Raises NoBookError if there is none. A list of instants gets a list in its order, with None where there is no book.
        """
        query = {"outcome": outcome, "mode": mode, "maxDistance": max_distance, "depth": depth, "asOf": as_of, "asOfReceived": as_of_received}
        path = f"/v1/{_core.market_path(market)}/snapshots/at"
        if not isinstance(at, list):
            snapshots = (await self.request("GET", f"{path}/{_core.quoted(_core.text_of(at))}", query)).json()["data"]
            if not snapshots:
                raise NoBookError(f"no book of {outcome} is recorded {mode} {at} in {market}")
            return Book(snapshots[0])
        books: list[Book | None] = []
        for part in _core.parts_of(at):
            while part:
                # An answer that would be too large has the first instants only.
                found = (await self.request("GET", path, {**query, "ts": part})).json()["data"]
                books += [Book(each["data"][0]) if each["data"] else None for each in found]
                part = part[len(found) :]
        return books

    async def stream(
        self, market: MarketName, *, from_: Instant | None = None, to: Instant | None = None, speed: float | Literal["max"] | None = None,
        outcome: Outcome | None = None, depth: int | None = None, include: Literal["receivedAt"] | None = None, as_of: Instant | None = None,
        last_event_id: str = "",
    ) -> AsyncGenerator[StreamEvent, None]:
        """Snapshots and gaps at their recorded pace. After a lost connection it continues after the last event."""
        query = {"from": from_, "to": to, "speed": speed, "outcome": outcome, "depth": depth, "include": include, "asOf": as_of}
        path, events, attempts = f"/v1/{_core.market_path(market)}/stream", EventReader(last_event_id), Attempts()
        while not events.is_ended:
            headers = {"Last-Event-ID": events.last_id} if events.last_id else {}
            response = await self._send("GET", path, query, None, headers, attempts, is_whole=False)
            try:
                async for chunk in response.aiter_bytes():
                    for event in events.read(chunk):
                        attempts.succeeded()
                        yield event
                failure: Exception = ConnectionLostError("the stream ended before its end event")
            except _core.LOST as error:
                failure = error
            finally:
                await response.aclose()
            if not events.is_ended:
                events.lost()
                await asyncio.sleep(attempts.pause_after(failure))

    async def export(
        self, market: MarketName, path: str | os.PathLike[str], *, format: Format | None = None, shape: Shape | None = None,
        type: Table | None = None, from_: Instant | None = None, to: Instant | None = None, outcome: Outcome | None = None,
        interval: str | None = None, depth: int | None = None, as_of: Instant | None = None, numbers: Numbers | None = None,
    ) -> ExportedFile:
        """
        Writes a market to a file, in the format of its suffix: ndjson, msgpack, csv, parquet, arrow or segments. What was received before an error stays
        in `FILE.part`: the same call continues NDJSON of a resolved market there, and starts other files again. Of segments every digest is checked.
        """
        target = Path(path)
        chosen = format or SUFFIXES.get(target.suffix)
        if chosen is None:
            raise ValueError(f"{target.name} has no suffix of a format: give format, or one of {', '.join(SUFFIXES)}")
        query = {
            "format": chosen, "shape": shape, "type": type, "numbers": numbers, "from": from_, "to": to, "outcome": outcome, "interval": interval,
            "depth": depth, "asOf": as_of,
        }
        url, file, attempts = f"/v1/{_core.market_path(market)}/export", PartialFile(target, chosen), Attempts()
        while True:
            continued = file.begin()
            try:
                response = await self._send("GET", url, {**query, **continued}, None, {}, attempts, is_whole=False)
                try:
                    if not continued:
                        file.state(response.headers.get("ETag"))
                    async for chunk in response.aiter_bytes():
                        if file.write(chunk):
                            attempts.succeeded()
                finally:
                    await response.aclose()
                # The market may have changed between the parts of a file; its tag then has, too.
                if not continued or file.is_of((await self.request("HEAD", url, query)).headers.get("ETag")):
                    return file.finish()
                file.discard()
                failure: Exception = DamagedError("the market changed while it was exported: export it again")
            except errors.InvalidParameterError as error:
                if not continued:
                    raise
                # The file is of another export, which ended after this one.
                file.discard()
                failure = DamagedError(f"{target.name}.part is of another export: {error.message}")
            except (*_core.LOST, DamagedError) as error:
                failure = error
            finally:
                file.close()
            await asyncio.sleep(attempts.pause_after(failure))

    def replay(self, request: ReplayRequest | None = None) -> AsyncReplaySession:
        """
        A replay, for `async with`: it is created at its beginning and removed at its end. The service is that of `bookreel replay`; a client of a
        local archive starts it.
        """
        return AsyncReplaySession(self, request)

    async def _replays(self) -> AsyncClient:
        if self._archive is None:
            return AsyncClient(self._key, self.base_url)
        return AsyncClient(self._key, await asyncio.to_thread(self._archive.replays_url))

    async def _send(
        self, method: str, path: str, query: Query, body: object, headers: Mapping[str, str], attempts: Attempts, is_whole: bool = True
    ) -> httpx.Response:
        """An answer without error; unless `is_whole`, its body is still to be read, and it is to be closed."""
        while True:
            request = self._http.build_request(method, path, params=_core.encoded(query), json=body, headers=dict(headers))
            failure: httpx.Response | Exception
            response = None
            try:
                failure = response = await self._http.send(request, stream=True)
                if is_whole or not response.is_success:
                    await response.aread()
                if response.is_success:
                    return response
            except _core.LOST as error:
                failure = error
                if response is not None:
                    await response.aclose()
            await asyncio.sleep(attempts.pause_after(failure))

    async def _json(self, method: str, path: str, query: Query, body: object = None) -> Any:
        answer = await self.request(method, path, query, body=body)
        if "json" in answer.headers.get("Content-Type", ""):
            return answer.json()
        return answer.text

    def _series(self, path: str, query: Query, table: str | None) -> AsyncSeries[Any]:
        return AsyncSeries(self, path, query, cast("Table | None", table))


class AsyncReplaySession:
    """A replay of its own: `client` reads it as of its clock, `url` is the address for bots."""

    def __init__(self, service: AsyncClient, request: ReplayRequest | None) -> None:
        self._service, self._request = service, request

    async def __aenter__(self) -> AsyncReplaySession:
        self._server = await self._service._replays()
        try:
            self.id = (await self._server.create_replay(self._request or {}))["id"]
        except BaseException:
            await self._server.close()
            raise
        self.url = f"{self._server.base_url}/replays/{self.id}"
        self.client = AsyncClient(self._server._key, self.url)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.client.close()
        try:
            await self._server.stop_replay(self.id)
        finally:
            await self._server.close()

    async def show(self) -> Replay:
        return await self._server.show_replay(self.id)

    async def change(self, change: ReplayChange) -> Replay:
        """`now` jumps, `speed`, `paused` and `step` follow, in this order."""
        return await self._server.steer_replay(self.id, change)

    async def pause(self) -> Replay:
        return await self.change({"paused": True})

    async def resume(self) -> Replay:
        return await self.change({"paused": False})

    async def step(self) -> Replay:
        """Goes to the next event, and pauses there."""
        return await self.change({"step": True})

    async def seek(self, now: int | str) -> Replay:
        return await self.change({"now": now})
