"""Runs when a Python of `support.command` starts: no network, hidden packages."""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")


class _Hidden(MetaPathFinder):
    def __init__(self, names: list[str]) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def _forbid_network(log: str) -> None:
    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in _NETWORK:
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(f"python {event} {arguments[1:]!r}\n")
            raise PermissionError(f"no network in this test: {event}")

    sys.addaudithook(hook)


if log := os.environ.get("TEST_NETWORK_LOG"):
    _forbid_network(log)
if hidden := os.environ.get("TEST_HIDDEN_PACKAGES"):
    sys.meta_path.insert(0, _Hidden(hidden.split(",")))
