"""An index behind HTTP, as an ASGI application for uvicorn, Hypercorn or a framework: what `culmen serve` answers.

    # service.py; then: uvicorn service:app
    import culmen, culmen.asgi

    app = culmen.asgi.app(culmen.Index.open("hotels.index"))

It needs nothing but culmen. docs/guide-serve.md describes the paths, the errors and the page, which are the same.
"""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from . import _core
from ._device import device_numbers
from ._errors import InvalidArgument
from ._files import Path
from ._index import Index
from ._queries import ALL_CORES, check_integer

__all__ = ["App", "app"]

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_Response = tuple[int, list[tuple[bytes, bytes]], bytes]


def app(
    index: Index | Path,
    *,
    writable: bool = False,
    token: str | None = None,
    hosts: Iterable[str] = (),
    page: bool = True,
    threads: int = ALL_CORES,
    device: str | list[str] | tuple[str, ...] | None = None,
    max_rows: int = 10_000,
    max_body: int = 4 << 20,
    max_waiting: int = 1_024,
    time_limit: float = 10.0,
) -> App:
    """Makes an ASGI application of an index.

    Args:
        index: an index, or the directory of one or of a sharded one, which is opened. An index that was opened to read
            follows its directory, once a second.
        writable: takes changes, for which it needs a token.
        token: is asked for as `Authorization: Bearer TOKEN` with all requests, but for the page's own file, /health
            and /openapi.json. 16 characters of ASCII or more. Without one everybody may ask whom the server lets in.
        hosts: names that clients call the server by, besides localhost. Requests with another one in their Host field
            are refused.
        page: whether there is the page, at /.
        threads: that share a scan or a batch of questions.
        device: "cuda:0" searches there, ["cuda:0", "cuda:1"] on several.
        max_rows: rows that one request may ask for, or write.
        max_body: bytes of a request's body.
        max_waiting: questions that wait for their answer; further ones are told to come again.
        time_limit: seconds for a question.

    >>> import culmen, culmen.asgi
    >>> index = culmen.Index.build({"id": [1, 2], "price": [80, 120]}, attributes=["price:low"], id="id")
    >>> service = culmen.asgi.app(index, hosts=["hotels.example"])
    """
    return App(index, writable, token, hosts, page, threads, device, max_rows, max_body, max_waiting, time_limit)


class App:
    """What culmen.asgi.app returns: call it as ASGI says, or mount it in another application."""

    def __init__(
        self,
        index: Index | Path,
        writable: bool,
        token: str | None,
        hosts: Iterable[str],
        page: bool,
        threads: int,
        device: str | list[str] | tuple[str, ...] | None,
        max_rows: int,
        max_body: int,
        max_waiting: int,
        time_limit: float,
    ) -> None:
        if token is not None:
            _core.check_token(token)
        elif writable:
            raise InvalidArgument("writable=True needs a token")
        if isinstance(hosts, str):
            raise InvalidArgument("hosts: a list of names")
        if not 0.001 <= time_limit <= 3600:
            raise InvalidArgument("time_limit: seconds, from 0.001 to 3600")
        self._max_body = check_integer("max_body", max_body, 1)
        self._service: Any = _core.make_service(
            index=index._handle if isinstance(index, Index) else None,
            directory=None if isinstance(index, Index) else os.fsencode(index),
            hosts=list(hosts),
            token=token or "",
            writable=writable,
            page=page,
            num_threads=check_integer("threads", threads),
            devices=device_numbers(device),
            max_rows=check_integer("max_rows", max_rows, 1),
            max_waiting=check_integer("max_waiting", max_waiting, 1),
            time_limit=time_limit,
            report=logging.getLogger(__name__).warning,
        )
        # Before the interpreter ends, when its threads could not call Python any more.
        self.close = weakref.finalize(self, self._service.stop)

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._reply(scope, receive, send)
        else:  # a websocket
            await receive()
            await send({"type": "websocket.close"})

    async def _live(self, receive: _Receive, send: _Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await asyncio.get_running_loop().run_in_executor(None, self.close)
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _reply(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        head = _head_of(scope)
        response: _Response | None = self._service.refusal(head)
        if response is None:
            body = await self._read(receive)
            if body is None:
                return  # the client has gone
            if len(body) > self._max_body:
                response = self._service.too_large(head)
            else:
                response = await self._answer(head, body, receive)
        status, fields, text = response
        fields = [*fields, (b"cache-control", b"no-store"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else text})

    async def _read(self, receive: _Receive) -> bytes | None:
        """The body, or a part of it that is too large."""
        parts, size = [], 0
        while size <= self._max_body:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if not message.get("more_body", False):
                break
        return b"".join(parts)

    async def _answer(self, head: _core.RequestHead, body: bytes, receive: _Receive) -> _Response:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[_Response] = loop.create_future()
        client = _core.Client()

        def reply(response: _Response) -> None:
            def take() -> None:
                if not answered.done():
                    answered.set_result(response)

            try:
                loop.call_soon_threadsafe(take)
            except RuntimeError:  # the loop is closed, and nobody waits
                pass

        self._service.answer(head, body, client, reply)
        disconnected = asyncio.ensure_future(receive())
        disconnected.add_done_callback(lambda done: client.leave() if _has_left(done) else None)
        try:
            return await answered
        finally:
            client.leave()
            disconnected.cancel()


def _has_left(received: asyncio.Future[_Message]) -> bool:
    return received.cancelled() or received.exception() is not None or received.result()["type"] == "http.disconnect"


def _head_of(scope: _Message) -> _core.RequestHead:
    fields: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        fields.setdefault(bytes(name).lower(), bytes(value).decode("latin-1"))
    target = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
    if scope.get("query_string"):
        target += "?" + bytes(scope["query_string"]).decode("latin-1")
    return _core.RequestHead(
        scope["method"],
        target,
        *(fields.get(name, "") for name in (b"host", b"origin", b"content-type", b"authorization")),
    )
