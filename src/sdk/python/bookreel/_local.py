"""A local archive: the executable `bookreel` serves it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import weakref
from datetime import datetime, timedelta, timezone
from pathlib import Path

from ._core import ArchiveError

#: The key is revoked when the archive is closed; a killed process leaves it until then.
KEY_DAYS = 7
KEY_RPM = 1_000_000
#: Runs a server until standard input ends: also if this process is killed.
WATCHED = ["sh", "-c", '"$@" & exec >&-; read _; kill $!; wait $!', "sh"]


class LocalArchive:
    """Serves an archive on a free port of this machine, with a key of its own, until `close`. Ends with the process, too."""

    def __init__(self, data: str | os.PathLike[str], executable: str, tier: str) -> None:
        if not Path(data).is_dir():
            raise ArchiveError(f"there is no directory {os.fspath(data)!r}: give the data directory of an archive")
        self._command = [executable, "--data", os.fspath(data)]
        self._processes: list[subprocess.Popen[str]] = []
        expires = (datetime.now(timezone.utc) + timedelta(days=KEY_DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ")
        created = _run([*self._command, "key", "create", "--tier", tier, "--name", "python", "--rpm", str(KEY_RPM), "--expires", expires, "--json"])
        self.key: str = json.loads(created)["key"]
        self.close = weakref.finalize(self, _end, self._processes, [*self._command, "key", "revoke", json.loads(created)["id"]])
        try:
            self.url = self._start("serve", "--drain-seconds", "1")
        except ArchiveError:
            self.close()
            raise
        self._replays_url: str | None = None

    def replays_url(self) -> str:
        """Starts `bookreel replay` at the first call."""
        if self._replays_url is None:
            self._replays_url = self._start("replay", "--paused")
        return self._replays_url

    def _start(self, *arguments: str) -> str:
        command = [*self._command, *arguments, "--host", "127.0.0.1", "--port", "0", "--log-level", "error"]
        with tempfile.TemporaryFile("w+") as errors:
            process = _opened([*WATCHED, *command], errors.fileno(), subprocess.PIPE)
            self._processes.append(process)
            assert process.stdin is not None and process.stdout is not None
            for line in process.stdout:
                found = re.search(r"(?: on |REST +)(http://\S+)", line)
                if found:
                    return found[1]
            process.stdin.close()
            process.wait()
            errors.seek(0)
            raise ArchiveError(f"{' '.join(command[:1] + list(arguments[:1]))} did not start: {errors.read().strip()}")


def _opened(command: list[str], stderr: int, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    # Settings of the shell are for other commands. Ctrl+C, and the interrupt of a notebook, is for the caller and not for the server.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BOOKREEL_")}
    try:
        return subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment, start_new_session=True
        )
    except OSError as error:
        raise ArchiveError(f"{command[0]!r} cannot be run: install bookreel, or give its path as executable ({error})") from error


def _run(command: list[str]) -> str:
    process = _opened(command, subprocess.PIPE)
    output, errors = process.communicate()
    if process.returncode:
        raise ArchiveError(errors.strip())
    return output


def _end(processes: list[subprocess.Popen[str]], revoke: list[str]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    _run(revoke)
