"""A visitor without a browser: speaks Streamlit's own protocol (protobuf messages over a websocket), as a tab does.

`async with Visitor("http://127.0.0.1:8501") as visitor:`, then `await visitor.open(text="a robot", layer="1")`,
`await visitor.type("a robot must obey")`, `await visitor.step(2)`: each returns the seconds until the page was drawn.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

T = TypeVar("T")

_PATIENCE = 180.0  # seconds
_LARGEST = 64 * 2**20
_FIRST_MESSAGE = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"]  # what a tab without a session sends
_ENDED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


class Visitor:
    """One tab: what the server has sent it, and the answers it gives."""

    def __init__(self, url: str, *, headers: dict[str, str] | None = None) -> None:
        self.url, self._headers = url, headers or {}
        self.query = ""
        self.received: list[bytes] = []
        self.keep_received = False
        self.n_bytes = 0
        self._socket: ClientConnection | None = None
        self._states: dict[str, WidgetState] = {}
        self._ids: dict[str, tuple[str, str]] = {}  # an element's own name: its id, and its fragment's
        self._sent: dict[str, Any] = {}  # a component's name: the data that Python sent it
        self._pages: dict[str, str] = {}  # url path: hash
        self._page = ""
        self._steps = 0
        self.told: list[str] = []  # errors and warnings shown by the latest run

    async def __aenter__(self) -> Visitor:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """Open the connection, as a tab does when it is opened or has lost it."""
        self._socket = await connect(
            f"{self.url.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=_FIRST_MESSAGE,  # type: ignore[arg-type]
            additional_headers=self._headers,
            max_size=_LARGEST,
            proxy=None,
        )

    async def close(self) -> None:
        """Close the tab."""
        if self._socket is not None:
            await self._socket.close()

    # --- what a person does; each returns the seconds until the page was drawn ----------------------------------------

    async def open(self, **params: str) -> float:
        """Open a link."""
        self.query = urlencode(params)
        return await self.rerun()

    async def type(self, text: str) -> float:
        """Type into the sentence box."""
        await self.start_typing(text)
        return await self.drawn()

    async def start_typing(self, text: str) -> None:
        """Type into the sentence box and do not wait for the page."""
        element, fragment = self._ids["headlight_sentence_box"]
        value = {"typed": {"text": text, "at": time.time_ns()}}
        self._states[element] = WidgetState(id=element, json_value=json.dumps(value))
        await self.send(fragment=fragment)

    async def step(self, query: int) -> float:
        """Choose a token (from 0) in the strip."""
        self._steps += 1
        choice = {"query": query, "revision": self.strip["revision"], "count": self._steps}
        element, fragment = self._ids["headlight_token_strip"]
        return await self._changed(WidgetState(id=element, json_value=json.dumps({"choice": choice})), fragment)

    async def press(self, label: str, option: str) -> float:
        """Press a button of a row of buttons, by the labels of both."""
        element, fragment = self._ids[label]
        state = WidgetState(id=element)
        state.string_array_value.data.append(option)
        return await self._changed(state, fragment)

    async def click(self, label: str) -> float:
        """Press a button."""
        element, fragment = self._ids[label]
        return await self._changed(WidgetState(id=element, trigger_value=True), fragment, keep=False)

    async def go(self, page: str) -> float:
        """Open another page by its address: `compare`."""
        self._page = self._pages[page]
        return await self.rerun()

    async def rerun(self) -> float:
        """Have the page drawn again."""
        await self.send()
        return await self.drawn()

    # --- what is on the page ------------------------------------------------------------------------------------------

    @property
    def strip(self) -> dict[str, Any]:
        """The token strip's data: `labels`, `revision`, `heads`, `command`."""
        return self._sent["headlight_token_strip"]

    @property
    def pages(self) -> list[str]:
        """The addresses of all pages."""
        return list(self._pages)

    @property
    def page(self) -> str:
        """The address of the page on show."""
        return next((path for path, page_hash in self._pages.items() if page_hash == self._page), "")

    @property
    def names(self) -> set[str]:
        """Labels of the buttons, and names of the components."""
        return set(self._ids)

    @property
    def params(self) -> dict[str, str]:
        """What the address bar says."""
        return dict(parse_qsl(self.query, keep_blank_values=True))

    # --- the protocol -------------------------------------------------------------------------------------------------

    async def send(self, *triggers: WidgetState, fragment: str = "") -> None:
        """Ask for a run, and do not wait for it."""
        assert self._socket is not None
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash, asked.fragment_id = self.query, self._page, fragment
        asked.widget_states.widgets.extend([*self._states.values(), *triggers])
        self.told = []
        self._started = time.perf_counter()
        await self._socket.send(message.SerializeToString())

    async def drawn(self) -> float:
        """Read until the run that was asked for has ended; the seconds it took.

        Raises:
            websockets.ConnectionClosed: the server went away.
            TimeoutError: nothing came for three minutes.
        """
        assert self._socket is not None
        while True:
            async with asyncio.timeout(_PATIENCE):
                payload = await self._socket.recv()
            assert isinstance(payload, bytes)
            self.n_bytes += len(payload)
            if self.keep_received:
                self.received.append(payload)
            message = ForwardMsg.FromString(payload)
            self._take(message)
            if message.WhichOneof("type") == "script_finished" and message.script_finished in _ENDED:
                return time.perf_counter() - self._started

    async def _changed(self, state: WidgetState, fragment: str, *, keep: bool = True) -> float:
        if keep:
            self._states[state.id] = state
            await self.send(fragment=fragment)
        else:
            await self.send(state, fragment=fragment)
        return await self.drawn()

    def _take(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "delta":
                self._element(message)
            case "page_info_changed":
                self.query = message.page_info_changed.query_string
            case "navigation":
                self._pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            case "new_session":
                self._page = message.new_session.page_script_hash

    def _element(self, message: ForwardMsg) -> None:
        delta = message.delta
        if delta.WhichOneof("type") != "new_element":
            return
        element, fragment = delta.new_element, delta.fragment_id
        match element.WhichOneof("type"):
            case "bidi_component":
                name = element.bidi_component.component_name
                self._ids[name] = element.bidi_component.id, fragment
                told = element.bidi_component
                self._sent[name] = json.loads(told.mixed.json or told.json or told.bytes or "null")
            case "button_group":
                self._ids[element.button_group.label] = element.button_group.id, fragment
            case "button":
                self._ids[element.button.label] = element.button.id, fragment
            case "alert":
                self.told.append(element.alert.body)
            case "exception":
                raise AssertionError(f"the app raised an exception: {element.exception.message}")


def run(visit: Coroutine[Any, Any, T]) -> T:
    """The visit's result. It runs in a thread of its own: in the main one a browser's test may have left its loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, visit).result()


async def gather_all(visits: Iterator[Any]) -> list[Any]:
    """All of these at once; the first failure is raised when all have ended."""
    results = await asyncio.gather(*visits, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
