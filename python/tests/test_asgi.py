"""culmen.asgi, asked as a server asks an application."""

import asyncio
import gc
import json
import pathlib
import subprocess
import sys

import pytest

import culmen
import culmen.asgi

TOKEN = "a-token-of-32-characters-or-more"
QUESTION = {"weights": {"price": -1, "rating": 20}, "k": 3}


@pytest.fixture
def hotels():
    table = {
        "id": [7, 9, 30, 31],
        "name": ["Alpha", "Bellevue", "Zum Löwen", "Delphin"],
        "price": [80.0, 200.0, 120.0, 60.0],
        "rating": [7.5, 9.5, 9.0, None],
    }
    return culmen.Index.build(table, attributes=["price:low", "rating"], id="id", label="name")


async def call(app, method, path, body=None, *, headers=(), root="", leaves=False, parts=1):
    """(status, headers, body) of one request; `leaves`: the client goes before it is answered."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    fields = {b"host": b"localhost:8000"}
    if body is not None:
        fields[b"content-type"] = b"application/json"
    fields.update(headers)
    target, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": root + target,
        "root_path": root,
        "query_string": query.encode(),
        "headers": list(fields.items()),
    }
    step = len(data) // parts + 1
    messages = [
        {"type": "http.request", "body": data[i * step : (i + 1) * step], "more_body": i + 1 < parts}
        for i in range(parts)
    ]
    if leaves:
        messages.append({"type": "http.disconnect"})
    sent = []

    async def receive():
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    await asyncio.wait_for(app(scope, receive, send), 30)
    if not sent:
        return None
    start, end = sent
    return start["status"], dict(start["headers"]), end["body"]


def ask(app, method, path, body=None, **options):
    status, fields, text = asyncio.run(call(app, method, path, body, **options))
    assert method == "HEAD" or int(fields[b"content-length"]) == len(text)
    is_json = fields[b"content-type"] == b"application/json" and text
    return status, json.loads(text) if is_json else text


def refusal(app, *request, **options):
    status, answer = ask(app, *request, **options)
    return status, answer["error"]["type"], answer["error"]["message"]


def bearer(token):
    return [(b"authorization", b"Bearer " + token.encode())]


def test_answers_as_the_index(hotels):
    app = culmen.asgi.app(hotels)
    status, answer = ask(app, "POST", "/search", QUESTION)
    assert status == 200
    found = [(hit["id"], hit["score"], hit["label"]) for hit in answer["queries"][0]["results"]]
    assert found == [(row.id, row.score, row.label) for row in hotels.search(QUESTION["weights"], 3)]
    _, answer = ask(app, "POST", "/search", {"queries": [QUESTION, {**QUESTION, "where": "price < 100"}]})
    assert [[hit["id"] for hit in query["results"]] for query in answer["queries"]] == [[7, 30, 9], [7]]
    why = ask(app, "POST", "/why", {**QUESTION, "id": 7})[1]
    rank = hotels.rank_of(QUESTION["weights"], 7)
    assert (why["rank"], why["score"]) == (rank.rank, rank.score)
    assert [row and row["id"] for row in ask(app, "GET", "/get?ids=9,1")[1]["rows"]] == [9, None]
    assert ask(app, "GET", "/info")[1]["rows"] == 4
    assert ask(app, "GET", "/health")[1] == {"status": "ok"}
    assert ask(app, "POST", "/explain", QUESTION)[0] == 200
    assert [one["name"] for one in ask(app, "GET", "/distributions")[1]["attributes"]] == ["price", "rating"]
    assert b'culmen_requests_total{route="/why",status="200"} 1' in ask(app, "GET", "/metrics")[1]


def test_answers_as_the_program(hotels, tmp_path):
    hotels.save(tmp_path / "hotels")
    program = [sys.executable, "-m", "culmen", "query", tmp_path / "hotels", "-w", "price=-1,rating=20", "-k", "3"]
    done = subprocess.run([*program, "--format", "json"], capture_output=True, check=True)
    expected, found = json.loads(done.stdout), ask(culmen.asgi.app(tmp_path / "hotels"), "POST", "/search", QUESTION)[1]
    for answer in (expected, found):
        answer["queries"][0].pop("stats")
    assert found == expected


def test_errors_are_those_of_the_server(hotels):
    app = culmen.asgi.app(hotels, max_rows=10, max_body=100)
    assert refusal(app, "POST", "/search", {"weights": {"prise": 1}})[:2] == (400, "InvalidArgument")
    assert "rows" in refusal(app, "POST", "/search", {**QUESTION, "k": 11})[2]
    assert refusal(app, "POST", "/search", b"{")[:2] == (400, "InvalidArgument")
    assert refusal(app, "GET", "/search")[:2] == (405, "WrongMethod")
    assert refusal(app, "GET", "/../etc/passwd")[:2] == (404, "NotFound")
    assert refusal(app, "POST", "/search", QUESTION, headers=[(b"content-type", b"text/plain")])[0] == 415
    assert refusal(app, "POST", "/search", b" " * 101, parts=3)[:2] == (413, "BodyTooLarge")
    assert refusal(app, "POST", "/insert", {"rows": []}, headers=bearer(TOKEN))[0] == 403
    assert refusal(app, "GET", "/info", headers=[(b"host", b"evil.example")])[:2] == (421, "UnknownHost")
    assert refusal(app, "GET", "/info", headers=[(b"origin", b"http://evil.example")])[:2] == (403, "ForeignOrigin")
    assert (
        ask(culmen.asgi.app(hotels, hosts=["a.example"]), "GET", "/info", headers=[(b"host", b"A.example:80")])[0]
        == 200
    )


def test_body_in_parts_and_head(hotels):
    app = culmen.asgi.app(hotels)
    assert ask(app, "POST", "/search", QUESTION, parts=7)[1]["queries"][0]["results"]
    assert ask(app, "HEAD", "/health") == (200, b"")


def test_the_page(hotels):
    app = culmen.asgi.app(hotels)
    status, text = ask(app, "GET", "/")
    assert status == 200 and b"<title>culmen</title>" in text
    assert ask(app, "GET", "/", root="/hotels") == (status, text)  # mounted
    assert ask(app, "GET", "/health", root="/hotels")[0] == 200
    assert refusal(culmen.asgi.app(hotels, page=False), "GET", "/")[0] == 404
    assert ask(app, "GET", "/openapi.json")[1]["openapi"].startswith("3.")


def test_a_token_is_needed_for_everything(hotels):
    app = culmen.asgi.app(hotels, token=TOKEN)
    assert refusal(app, "POST", "/search", QUESTION)[:2] == (401, "TokenNeeded")
    assert refusal(app, "GET", "/info", headers=bearer(TOKEN[:-1]))[0] == 401
    assert ask(app, "POST", "/search", QUESTION, headers=bearer(TOKEN))[0] == 200
    assert ask(app, "GET", "/health")[0] == 200
    with pytest.raises(culmen.InvalidArgument, match="16"):
        culmen.asgi.app(hotels, token="short")
    with pytest.raises(culmen.InvalidArgument, match="token"):
        culmen.asgi.app(hotels, writable=True)


def test_changes(hotels):
    app = culmen.asgi.app(hotels, writable=True, token=TOKEN)
    row = {"id": 50, "label": "Neu", "attributes": {"price": 1, "rating": 10}}
    assert ask(app, "POST", "/insert", {"rows": [row]}, headers=bearer(TOKEN))[1]["inserted"] == 1
    assert hotels.search(QUESTION["weights"], 1)[0].id == 50
    assert ask(app, "POST", "/erase", {"ids": [50]}, headers=bearer(TOKEN))[1]["erased"] == 1
    assert 50 not in hotels
    only_read = culmen.asgi.app(hotels, token=TOKEN)
    assert refusal(only_read, "POST", "/erase", {"ids": [7]}, headers=bearer(TOKEN))[:2] == (403, "ReadOnly")


def test_follows_changes_of_the_program_that_has_the_index(hotels):
    app = culmen.asgi.app(hotels)
    hotels.erase(9)

    async def rows():
        for _ in range(300):
            info = json.loads((await call(app, "GET", "/info"))[2])
            if info["rows"] == 3:
                return info["rows"]
            await asyncio.sleep(0.02)

    assert asyncio.run(rows()) == 3


def test_many_at_once(hotels):
    app = culmen.asgi.app(hotels)

    async def several():
        return await asyncio.gather(*(call(app, "POST", "/search", {**QUESTION, "k": 1 + i % 3}) for i in range(300)))

    for i, (status, _, text) in enumerate(asyncio.run(several())):
        assert status == 200
        assert len(json.loads(text)["queries"][0]["results"]) == 1 + i % 3


def test_a_client_that_leaves(hotels):
    app = culmen.asgi.app(hotels)
    asyncio.run(call(app, "POST", "/search", QUESTION, leaves=True))
    assert asyncio.run(call(app, "POST", "/search", b"", leaves=True, parts=1))[0] == 400

    async def before_its_body():
        scope = {"type": "http", "method": "POST", "path": "/search", "query_string": b"", "headers": []}
        scope["headers"] = [(b"host", b"localhost"), (b"content-type", b"application/json")]

        async def receive():
            return {"type": "http.disconnect"}

        async def send(message):
            raise AssertionError(message)

        await app(scope, receive, send)

    asyncio.run(before_its_body())


def test_lifespan_and_websockets(hotels):
    app = culmen.asgi.app(hotels)

    async def live():
        messages, sent = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}], []

        async def receive():
            return messages.pop(0)

        async def send(message):
            sent.append(message["type"])

        await app({"type": "lifespan"}, receive, send)
        messages.append({"type": "websocket.connect"})
        await app({"type": "websocket", "path": "/"}, receive, send)
        return sent

    assert asyncio.run(live()) == ["lifespan.startup.complete", "lifespan.shutdown.complete", "websocket.close"]
    assert refusal(app, "POST", "/search", QUESTION)[:2] == (503, "Overload")
    assert len(hotels.search(QUESTION["weights"], 2)) == 2  # the index is the program's


def test_ends_with_the_program_and_with_its_last_name(hotels):
    tasks = pathlib.Path("/proc/self/task")
    before = len(list(tasks.iterdir()))
    for _ in range(3):
        culmen.asgi.app(hotels)
    gc.collect()
    assert len(list(tasks.iterdir())) <= before
    code = """if True:
        import asyncio, culmen, culmen.asgi
        index = culmen.Index.build({"a": [1.0, 2.0]})
        app = culmen.asgi.app(index)
    """
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_no_gpu_is_the_usual_error(hotels):
    if culmen.num_devices() == 0:
        with pytest.raises(culmen.CudaError):
            culmen.asgi.app(hotels, device="cuda:0")
    with pytest.raises(culmen.InvalidArgument, match="tpu"):
        culmen.asgi.app(hotels, device="tpu")


def test_a_directory_of_shards(hotels, tmp_path):
    culmen.ShardedIndex.build(
        {"id": [1, 2, 3], "a": [1.0, 3.0, 2.0]}, tmp_path / "shards", attributes=["a"], id="id", shards=2
    )
    answer = ask(culmen.asgi.app(tmp_path / "shards"), "POST", "/search", {"weights": {"a": 1}})[1]
    assert [hit["id"] for hit in answer["queries"][0]["results"]] == [2, 3, 1]
    with pytest.raises(culmen.NoIndex):
        culmen.asgi.app(tmp_path / "nothing")
