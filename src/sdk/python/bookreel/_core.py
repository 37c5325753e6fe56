"""The parts of both clients that send and receive nothing."""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Iterator, Mapping, NamedTuple, Sequence, Union, cast
from urllib.parse import quote

import httpx

if TYPE_CHECKING:
    from .types import Gap, Level, Snapshot

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT = httpx.Timeout(60, connect=10)
#: Failures after which a request may be sent again: an answer that was cut off decodes badly, too.
LOST = (httpx.TransportError, httpx.DecodingError)
UNAVAILABLE = (502, 503, 504)
TRIES_MAX = 3
#: Consecutive answers 429 to one request.
WAITS_MAX = 100
BACKOFF_SECONDS = 0.5
INSTANTS_MAX = 1000
#: As they are in a URL: proxies refuse a line of more than 8 KiB.
INSTANTS_CHARS_MAX = 7000

#: Unix milliseconds, ISO 8601 with Z or an offset, or a datetime with a time zone.
Instant = Union[int, str, datetime]
#: "btc/NAME" with a slug or condition id, a slug that begins with its coin, or a record with `symbol` and `conditionId`, as a market has.
MarketName = Union[str, Mapping[str, object]]
Query = Mapping[str, object]


class BookreelError(Exception):
    """Every error of this package."""


class ConnectionLostError(BookreelError):
    """No try got a whole answer."""


class NoBookError(BookreelError, LookupError):
    """No book of the outcome is recorded there."""


class DamagedError(BookreelError):
    """The bytes of a file do not have the digests that the file states."""


class ArchiveError(BookreelError):
    """A local archive could not be opened."""


class ApiError(BookreelError):
    """An answer with an error status. Each `code` has a class of its own in `bookreel.errors`."""

    code = "unknown"

    def __init__(self, response: httpx.Response, problem: Mapping[str, Any]) -> None:
        self.status = response.status_code
        self.message = str(problem.get("detail") or response.reason_phrase)
        self.request_id = str(problem.get("requestId") or response.headers.get("X-Request-Id", ""))
        #: The refused parameters, each with `in`, `name` and `message`.
        self.issues: list[Mapping[str, str]] = problem.get("issues", [])
        self.headers = response.headers
        super().__init__(f"{self.message} ({self.status} {self.code}, request {self.request_id or 'without id'})")


def error_of(response: httpx.Response) -> ApiError:
    from . import errors

    try:
        document: object = response.json()
    except ValueError:
        document = None  # The page of a proxy.
    problem = cast("dict[str, Any]", document if isinstance(document, dict) else {})
    code = str(problem.get("type")).rpartition(":")[2]
    return errors.BY_CODE.get(code, ApiError)(response, problem)


class Attempts:
    """The tries of one request. `pause_after` returns the seconds until the next one, or raises if there is none."""

    def __init__(self, method: str = "GET") -> None:
        # A POST whose answer was lost may have had its effect.
        self._is_repeatable = method in ("GET", "HEAD")
        self._tries = 1
        self._waits = 0

    def pause_after(self, failure: httpx.Response | Exception) -> float:
        if isinstance(failure, httpx.Response):
            wait = failure.headers.get("Retry-After", "")
            if failure.status_code == 429 and wait.isdecimal() and self._waits < WAITS_MAX:
                self._waits += 1
                return float(wait)
            is_lasting = failure.status_code not in UNAVAILABLE
            error: BookreelError = error_of(failure)
        else:
            is_lasting = False
            error = failure if isinstance(failure, BookreelError) else ConnectionLostError(f"the connection was lost: {failure!r}")
        if is_lasting or not self._is_repeatable or self._tries == TRIES_MAX:
            raise error
        self._tries += 1
        return random.uniform(0, BACKOFF_SECONDS * 2**self._tries)

    def succeeded(self) -> None:
        """Part of an answer arrived: the next failure is the first again."""
        self._tries = 1
        self._waits = 0


def text_of(value: object) -> str:
    """A parameter as the service reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone: add one, as in datetime(2026, 1, 8, tzinfo=timezone.utc)")
        ms, rest = divmod(value - datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(milliseconds=1))
        return value.isoformat() if rest else str(ms)
    if isinstance(value, (list, tuple)):
        return ",".join(map(text_of, cast("Sequence[object]", value)))
    return str(value)


def encoded(query: Query) -> dict[str, str]:
    return {name: text_of(value) for name, value in query.items() if value is not None}


def quoted(part: str) -> str:
    return quote(part, safe="")


def checked_key(key: str | None) -> str | None:
    """Without surrounding spaces and line ends; None if nothing is left. Errors of httpx would show a key that is no header."""
    key = (key or "").strip()
    if not re.fullmatch(r"[!-~]*", key):
        raise ValueError("the key has characters that no key has: copy it again")
    return key or None


def market_path(market: MarketName) -> str:
    if not isinstance(market, str):
        return f"{quoted(str(market['symbol']))}/markets/{quoted(str(market['conditionId']))}"
    coin, slash, name = market.partition("/")
    if not slash:
        coin, hyphen, _ = market.partition("-")
        name = market
        if not hyphen:
            raise ValueError(f"{market!r} does not say its coin: write 'btc/{market}', or give a market of markets()")
    return f"{quoted(coin)}/markets/{quoted(name)}"


def following(query: Query, answer: Mapping[str, Any]) -> dict[str, object] | None:
    """The query of the next page; None after the last one."""
    for name, value in (("cursor", "nextCursor"), ("before", "nextBefore"), ("after", "nextAfter")):
        if answer.get(value) is not None:
            return {**query, name: answer[value]}
    pagination = answer.get("pagination")
    if pagination is None or not pagination["hasMore"] or pagination["count"] == 0:
        return None
    return {**query, "skip": pagination["skip"] + pagination["count"]}


def parts_of(instants: Sequence[Instant]) -> Iterator[list[str]]:
    """The instants in parts that fit into a URL."""
    part: list[str] = []
    length = 0
    for instant in map(text_of, instants):
        chars = len(quoted(f"{instant},"))
        if len(part) == INSTANTS_MAX or length + chars > INSTANTS_CHARS_MAX:
            yield part
            part, length = [], 0
        part.append(instant)
        length += chars
    if part:
        yield part


@dataclass(frozen=True)
class Book:
    """The book of one outcome."""

    snapshot: Snapshot

    @property
    def timestamp(self) -> datetime:
        return datetime.fromisoformat(self.snapshot["timestamp"].replace("Z", "+00:00"))

    @property
    def bids(self) -> list[Level]:
        """The best (highest) first."""
        return self.snapshot["bids"]

    @property
    def asks(self) -> list[Level]:
        """The best (lowest) first."""
        return self.snapshot["asks"]

    @property
    def best_bid(self) -> float | None:
        """The price; None if the side is empty."""
        return self.bids[0]["price"] if self.bids else None

    @property
    def best_ask(self) -> float | None:
        """The price; None if the side is empty."""
        return self.asks[0]["price"] if self.asks else None


class StreamEvent(NamedTuple):
    """A snapshot or a gap of a stream: the one that it is not is None. `id` is its `Last-Event-ID`."""

    id: str
    snapshot: Snapshot | None
    gap: Gap | None


class EventReader:
    """Server-sent events (HTML Standard, 9.2.5) as this service writes them: lines end with a line feed, data has one line."""

    def __init__(self, last_id: str) -> None:
        self.last_id = last_id
        self.is_ended = False
        self._rest = b""

    def read(self, chunk: bytes) -> Iterator[StreamEvent]:
        *blocks, self._rest = (self._rest + chunk).split(b"\n\n")
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line)
            kind = fields.get("event")
            self.is_ended = self.is_ended or kind == "end"
            if kind in ("snapshot", "gap"):
                self.last_id = fields["id"]
                data = json.loads(fields["data"])
                yield StreamEvent(self.last_id, *((data, None) if kind == "snapshot" else (None, data)))

    def lost(self) -> None:
        """What was read of an event is sent again."""
        self._rest = b""


class ExportedFile(NamedTuple):
    path: Path
    bytes: int
    #: Hexadecimal. The manifest of `bookreel export` states it, too.
    sha256: str


class PartialFile:
    """
    An export before it is complete: `FILE.part`, and `FILE.part.etag` with the tag of what is exported. NDJSON continues at the timestamp of its
    last whole record; what the service sends again is dropped. Other formats start again.
    """

    def __init__(self, path: Path, format: str) -> None:
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._etag = path.with_name(f"{path.name}.part.etag")
        self._format = format
        self._known: set[bytes] = set()
        self._rest = b""

    def begin(self) -> dict[str, str]:
        """Opens the file. Returns what replaces parameters of the request."""
        self._rest, self._known = b"", set()
        can_continue = self._format == "ndjson" and self._etag.exists() and self._part.exists()
        timeless: set[bytes] = set()
        latest: set[bytes] = set()
        last, length = None, 0
        self._file = self._part.open("r+b" if can_continue else "wb")
        for line in self._file if can_continue else ():
            if not line.endswith(b"\n"):
                break
            length += len(line)
            time = re.search(rb'"timestamp":"([^"]+)"', line)
            if time is None:
                timeless.add(line)
                continue
            if time[1] != last:
                last, latest = time[1], set()
            latest.add(line)
        if last is not None:
            self._known = timeless | latest
        self._file.seek(0 if last is None else length)
        self._file.truncate()
        return {} if last is None else {"from": last.decode()}

    def state(self, etag: str | None) -> None:
        """The tag of the whole export; without one the file cannot be continued."""
        self._etag.write_text(etag) if etag else self._etag.unlink(missing_ok=True)

    def is_of(self, etag: str | None) -> bool:
        return self._etag.exists() and self._etag.read_text() == etag

    def write(self, chunk: bytes) -> bool:
        """True if the next try can do without records of this chunk."""
        if not self._known:
            self._file.write(chunk)
            return self._format == "ndjson" and b"\n" in chunk and self._etag.exists()
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        fresh = [line + b"\n" for line in lines if line + b"\n" not in self._known]
        self._file.writelines(fresh)
        return len(fresh) > 0

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        self.close()
        self._part.unlink(missing_ok=True)
        self._etag.unlink(missing_ok=True)

    def finish(self) -> ExportedFile:
        """Renames the file to its name. Raises DamagedError if its segments are not whole."""
        self.close()
        digest = hashlib.sha256()
        with self._part.open("rb") as file:
            if self._format == "segments":
                check_segments(file)
                file.seek(0)
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
            size = file.tell()
        self._part.replace(self._path)
        self._etag.unlink(missing_ok=True)
        return ExportedFile(self._path, size, digest.hexdigest())


def check_segments(file: BinaryIO) -> None:
    """Each frame has a SHA-256 of the digest before it and of itself; `bookreel manual segments` describes the format."""
    chain, kind = file.readline(), b""
    while kind != b"E":
        head = file.read(5)
        frame = head + file.read(int.from_bytes(head[1:], "little"))
        digest = file.read(32)
        if hashlib.sha256(chain + frame).digest() != digest:
            raise DamagedError("the recording is damaged or cut off: export it again")
        chain, kind = digest, head[:1]
    if file.read(1):
        raise DamagedError("the recording has data after its end: export it again")
