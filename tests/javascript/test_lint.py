"""The linter of the components' scripts finds what it is there for."""

from __future__ import annotations

import pytest

from tests.javascript import scripts


def test_every_script_is_clean() -> None:
    assert scripts.lint() == 0
    assert len(scripts.joined()) >= 8


@pytest.mark.parametrize("fault", ["nowhere();", "var old = 1; old;", "if (a == b) c();", "let unused = 1;"])
def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(scripts, "joined", lambda: {"faulty": f"let [a, b, c] = [1, 2, () => 3];\n{fault}\n"})
    assert scripts.lint() != 0
