"""Recorded order books of up-or-down prediction markets, from a bookreel service or a local archive."""

from . import errors, types
from ._async import AsyncClient, AsyncReplaySession, AsyncSeries
from ._core import (
    ApiError, ArchiveError, Book, BookreelError, ConnectionLostError, DamagedError, ExportedFile, Instant, MarketName, NoBookError, StreamEvent,
)
from ._sync import Client, ReplaySession, Series

__all__ = [
    "ApiError", "ArchiveError", "AsyncClient", "AsyncReplaySession", "AsyncSeries", "Book", "BookreelError", "Client", "ConnectionLostError",
    "DamagedError", "ExportedFile", "Instant", "MarketName", "NoBookError", "ReplaySession", "Series", "StreamEvent", "errors", "types",
]
