"""Shared by all tests: nothing leaves this machine, and browser tests come last."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import typecheck  # noqa: F401  (before `model` and `viz`: see there)

ROOT = Path(__file__).resolve().parent.parent

# An example that fails once fails again: on CI the examples are the same in every run.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast tests first: an error in the mathematics is reported before the first browser starts."""
    items.sort(key=lambda item: "browser" in item.path.parts)


def _is_here(host: Any) -> bool:
    """Whether `host`, as given to a socket or to a look-up, is this machine."""
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session", autouse=True)
def _offline() -> Iterator[None]:
    """A test that connects to another machine, or looks up its name, fails there and then."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
            raise AssertionError(f"a test tried to connect to {address!r}; tests stay on this machine")
        return connect(self, address)

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_here(host):
            raise AssertionError(f"a test tried to look up {host!r}; tests stay on this machine")
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield
