"""The app as it is served: what it tells of this machine, to whom it listens, and what it needs of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from tests.browser.harness import ROOT, Server, free_port
from tests.browser.lifeline import Lifeline
from tests.models import make_config, random_network, write_checkpoint
from tests.soak.visitor import Visitor, run


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    write_checkpoint(folder / "models" / "tiny", random_network(make_config()))
    broken = write_checkpoint(folder / "models" / "broken", random_network(make_config()))
    (broken / "model.safetensors").write_bytes(b"no weights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_MODELS", str(folder / "models"))
        server = Server("app.py", folder / "log.txt")
    yield server
    server.stop()


def fetch(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            return answer.status, bytes(str(answer.headers), "latin-1") + answer.read()
    except urllib.error.HTTPError as error:
        return error.code, bytes(str(error.headers), "latin-1") + error.read()


def paths_in(payload: bytes) -> set[bytes]:
    """Folders of this machine that are named in it."""
    ours = {str(ROOT), str(Path.home()), tempfile.gettempdir(), sys.prefix, os.path.realpath(sys.executable)} - {"/"}
    return {path.encode() for path in ours if re.search(re.escape(path.encode()) + rb"\b", payload)}


async def _walk(url: str) -> bytes:
    """All that a visitor is sent on every page, with sound and with tampered links and a broken model."""
    links = (
        {"text": "a robot must obey", "model": "tiny", "layer": "1", "head": "2"},
        {"layer": "999", "head": "-1", "query": "nan", "model": "../../etc", "textz": "AAAA"},
        {"model": "broken", "text": "a robot"},
        {"model": "/etc/passwd", "text": ""},
    )
    received = b""
    for number, link in enumerate(links):
        async with Visitor(url) as visitor:
            visitor.keep_received = True
            await visitor.open(**link)
            for page in visitor.pages if number == 0 else ():
                await visitor.go(page)
            received += b"".join(visitor.received)
    return received


def test_nothing_that_is_sent_or_logged_names_a_folder_of_this_machine(served: Server) -> None:
    sent = run(_walk(served.url))
    assert b"app.py" in sent  # so Streamlit does tell the app's path, and this is the part of it that may be told
    assert paths_in(sent) == set()
    for path in ("/", "/compare", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics", "/nothing/here"):
        assert paths_in(fetch(served.url + path)[1]) == set(), path
    for path in ("/media/../../app.py", "/static/..%2f..%2f..%2fetc/passwd", "/component/x/..%2f..%2fapp.py", "/%00"):
        status, answer = fetch(served.url + path)
        assert paths_in(answer) == set(), path
        assert b"root:" not in answer
        assert b"set_page_config" not in answer
        assert status in (200, 400, 403, 404), path  # 200 is Streamlit's own page, whatever the address
    log = served.log_text()
    assert "Traceback" not in log
    assert paths_in(log.encode()) == set()


def test_a_page_of_another_origin_is_refused_and_nobody_is_asked_for_our_address(served: Server) -> None:
    """Streamlit would ask a web service first, for a second or two in which nobody else is answered."""
    with pytest.raises(InvalidStatus, match="403"):
        run(Visitor(served.url, headers={"Origin": "http://elsewhere.example"}).connect())
    assert "external IP" not in served.log_text()


def test_it_is_served_to_this_machine_alone(served: Server) -> None:
    port = int(served.url.rsplit(":", 1)[1])
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]]
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening


def test_a_visitor_through_a_proxy_is_not_offered_this_machines_folders(served: Server) -> None:
    async def offered(**headers: str) -> bool:
        async with Visitor(served.url, headers=headers) as visitor:
            await visitor.open()
            await visitor.go("models")
            return "Open" in visitor.names

    assert run(offered())
    assert not run(offered(**{"X-Forwarded-For": "192.0.2.1"}))


def test_an_upload_is_refused(served: Server) -> None:
    request = urllib.request.Request(f"{served.url}/_stcore/upload_file/x/y", data=b"x" * 3_000_000, method="PUT")
    with pytest.raises((urllib.error.HTTPError, urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(request, timeout=120)


def test_a_normal_user_can_serve_a_copy_that_is_read_only(tmp_path: Path) -> None:
    for name in ("app.py", "serve.py", ".streamlit", "model", "viz", "assets"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / "app" / name, ignore=shutil.ignore_patterns("__pycache__", "training"))
        else:
            (tmp_path / "app").mkdir(exist_ok=True)
            shutil.copy(source, tmp_path / "app" / name)
    for path in [tmp_path / "app", *(tmp_path / "app").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    port, log = free_port(), tmp_path / "log.txt"
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": os.pathsep.join(sys.path[1:])}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*_without_rights(), sys.executable, "serve.py", f"--server.port={port}"],
            cwd=tmp_path / "app",
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    lifeline = Lifeline(process.pid)
    try:
        run(_opens(f"http://127.0.0.1:{port}", log, process))
    finally:
        process.terminate()
        process.wait(60)
        lifeline.cut()
        for path in [tmp_path / "app", *(tmp_path / "app").rglob("*")]:
            path.chmod(0o755)
    assert "Traceback" not in log.read_text("utf-8")
    assert not list((tmp_path / "app").rglob("__pycache__"))


def _without_rights() -> list[str]:
    """In front of a command: run by root, it may do no more than any user. (Root may write to what is read-only.)"""
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.getuid() == 0 else []


async def _opens(url: str, log: Path, process: subprocess.Popen[bytes]) -> None:
    for _ in range(900):
        try:
            visitor = Visitor(url)
            await visitor.connect()
            break
        except OSError:
            assert process.poll() is None, log.read_text("utf-8")
            await asyncio.sleep(0.2)
    await visitor.open(text="a robot must obey", layer="1", head="1")
    assert visitor.strip["labels"][1] == "·robot"
    assert json.dumps(visitor.told) == "[]"
    await visitor.close()
