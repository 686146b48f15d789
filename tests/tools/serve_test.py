"""culmen serve, asked by a real client."""

import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
import unittest

from program import PROGRAM, Case

TOKEN = "a-token-of-32-characters-or-more"
QUESTION = {"weights": {"price": -1, "rating": 20}, "k": 3}


class ServeCase(Case):
    def setUp(self):
        super().setUp()
        self.build_hotels()

    def serve(self, *options, directory="index"):
        """Starts a server on a free port and waits until it listens."""
        process = subprocess.Popen(
            [PROGRAM, "serve", directory, "--port", "0", *map(str, options)],
            cwd=self.dir,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end, process)
        line = process.stderr.readline()
        self.assertIn('"listens"', line, line + (process.stderr.read() if "listens" not in line else ""))
        self.port = int(json.loads(line)["url"].split(":")[-1].strip("/"))
        self.server = process
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()

    def serve_writable(self, *options, **where):
        self.write("token", TOKEN + "\n")
        return self.serve("--writable", "--token-file", "token", *options, **where)

    def ask(self, method, path, body=None, *, token=None, headers=None, connection=None):
        """(status, headers, body): JSON as objects, other bodies as text."""
        own = connection is None
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        fields = dict(headers or {})
        if body is not None:
            fields.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        if token:
            fields["Authorization"] = "Bearer " + token
        connection.request(method, path, body, fields)
        response = connection.getresponse()
        text = response.read().decode()
        if own:
            connection.close()
        is_json = response.headers.get("Content-Type") == "application/json" and text
        return response.status, response.headers, json.loads(text) if is_json else text

    def answer(self, method, path, body=None, **options):
        status, _, answer = self.ask(method, path, body, **options)
        self.assertEqual(status, 200, answer)
        return answer

    def refuses(self, status, says, method, path, body=None, **options):
        found, headers, answer = self.ask(method, path, body, **options)
        self.assertEqual(found, status, answer)
        self.assertIn(says, answer["error"]["message"])
        return headers

    def send(self, data, *, half_close=False):
        """What the server says to raw bytes, until it closes or is silent for a second."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as client:
            client.sendall(data)
            if half_close:
                client.shutdown(socket.SHUT_WR)
            said = b""
            client.settimeout(1)
            try:
                while part := client.recv(65536):
                    said += part
            except (TimeoutError, ConnectionResetError):
                pass
            return said.decode(errors="replace")


def without_times(answer):
    """Answers without what differs from run to run."""
    for query in answer["queries"]:
        query["stats"] = {name: query["stats"][name] for name in ("rows_in_index", "device")}
    return answer


class ServeSearchTest(ServeCase):
    def from_program(self, *options):
        return without_times(json.loads(self.culmen("query", "index", *options, "--format", "json")[0]))

    def search(self, question):
        return without_times(self.answer("POST", "/search", question))

    def test_a_limit_of_memory_changes_no_answer(self):
        self.serve()
        expected = self.search(QUESTION)
        self.serve("--max-memory", "1kb")
        found = self.search(QUESTION)
        self.assertEqual(found, expected)
        self.serve("--max-memory", "1kb", "--codes", "memory")
        self.assertEqual(self.search(QUESTION), expected)

    def test_answers_as_the_program(self):
        self.serve()
        self.assertEqual(self.answer("GET", "/health"), {"status": "ok"})
        weights = ("-w", "price=-1,rating=20")
        self.assertEqual(self.search(QUESTION), self.from_program(*weights, "-k", 3))
        self.assertEqual(self.search({"weights": [-1, 20]}), self.from_program(*weights))
        self.assertEqual(self.search({**QUESTION, "k": 3.0}), self.search(QUESTION))
        for more, options in [
            ({"where": "price <= 120"}, ["--where", "price <= 120"]),
            ({"min_score": 60.5}, ["--min-score", "60.5"]),
            ({"scale": "minmax", "k": 2}, ["--scale", "minmax", "-k", 2]),
            ({"scale": "zscore", "k": 2}, ["--scale", "zscore", "-k", 2]),
            ({"scale": "rank", "k": 2}, ["--scale", "rank", "-k", 2]),
            ({"missing": "fill"}, ["--missing", "fill"]),
            ({"engine": "scan"}, ["--engine", "scan"]),
            ({"show": ["rating"]}, ["--show", "rating"]),
        ]:
            with self.subTest(options):
                expected = self.from_program(*weights, *options)
                self.assertEqual(self.search({"weights": QUESTION["weights"], **more}), expected)
        terms = "near(price, 120)"
        self.assertEqual(self.search({"terms": terms, "k": 2}), self.from_program("--terms", terms, "-k", 2))
        best = self.search({"queries": [{"terms": terms}]})["queries"][0]["results"][0]
        why = self.answer("POST", "/why", {"terms": terms, "id": best["id"]})
        self.assertEqual((why["rank"], why["score"]), (1, best["score"]))

    def test_filters_by_ids(self):
        self.serve()
        best = self.search({**QUESTION, "ids": [7, 9], "not_ids": [9, -5]})
        self.assertEqual([hit["id"] for hit in best["queries"][0]["results"]], [7])

    def test_answers_several_questions_in_order(self):
        self.serve()
        questions = [{"weights": {"price": -1}, "k": 1}, {"weights": {"rating": 1}, "k": 2, "show": []}]
        answer = self.search({"queries": questions})
        self.assertEqual([len(query["results"]) for query in answer["queries"]], [1, 2])
        self.assertEqual(answer["queries"][0], self.search(questions[0])["queries"][0])
        self.assertEqual(answer["queries"][1]["results"][0]["attributes"], {})
        self.assertEqual(self.search({"queries": []}), {"queries": []})

    def test_refuses_what_makes_no_sense(self):
        self.serve("--max-rows", 100)
        weights = QUESTION["weights"]
        for body, says in [
            ("{", "JSON"),
            (json.dumps(QUESTION) + "\0}", "NUL"),
            ("[]", "expected an object"),
            ("1e999", "JSON"),
            ('{"weights":{"price":1},"weights":{"rating":1}}', "given twice"),
            ("[" * 9 + "]" * 9, "nested more than 8 deep"),
            ({}, "weights are missing"),
            ({"terms": ""}, "all weights are zero"),
            ({"weights": {"prise": 1}}, "prise"),
            ({"weights": {"price": "1"}}, "weight of price: expected a number"),
            ({"weights": {"price": True}}, "expected a number"),
            ({"weights": [1]}, "1"),
            ({"weights": {"price": 0}}, "all weights are zero"),
            ({"weights": {"price": 1e308}}, "overflow"),
            ({"weights": weights, "k": 0}, "k: expected 1 or more"),
            ({"weights": weights, "k": 2.5}, "k: expected a whole number"),
            ({"weights": weights, "k": 1e300}, "k: expected a whole number"),
            ({"weights": weights, "k": 2**63}, "int64"),
            ({"weights": weights, "k": 101}, "100 rows"),
            ({"queries": [{"weights": weights, "k": 60}] * 2}, "100 rows"),
            ({"queries": [QUESTION, {"weights": {}, "kk": 1}]}, 'question 2: a question has no "kk"'),
            ({"queries": [QUESTION, {**QUESTION, "engine": "scan"}]}, "one engine"),
            ({"weights": weights, "where": "price <"}, "expected"),
            ({"weights": weights, "ids": [1.5]}, "ids: expected a whole number"),
            ({"weights": weights, "scale": "max"}, "unknown scale"),
            ({"weights": weights, "engine": "magic"}, "engine"),
            ({"weights": weights, "engine": "ta"}, "not ta"),
            ({"weights": weights, "show": ["prize"]}, 'did you mean "price"'),
            ({"weights": weights, "show": "price"}, "show: expected an array"),
            ({"weights": weights, "queries": []}, "queries"),
        ]:
            with self.subTest(body=body):
                self.refuses(400, says, "POST", "/search", body)
        self.search(QUESTION)  # it still works

    def test_a_minimum_score_that_too_many_rows_reach_is_refused(self):
        self.serve("--max-rows", 3)
        body = {"weights": QUESTION["weights"], "min_score": -1000}
        self.refuses(400, "more than 3 rows reach min_score", "POST", "/search", body)
        self.assertEqual(len(self.search({**body, "k": 3})["queries"][0]["results"]), 3)

    def test_answers_many_clients_at_once(self):
        self.serve()
        expected = {k: self.from_program("-w", "price=-1,rating=20", "-k", k) for k in (1, 2, 3)}
        wrong = []

        def client(k):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            for _ in range(100):
                _, _, answer = self.ask("POST", "/search", {**QUESTION, "k": k}, connection=connection)
                if without_times(answer) != expected[k]:
                    wrong.append(answer)
            connection.close()

        threads = [threading.Thread(target=client, args=(1 + i % 3,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        metrics = self.answer("GET", "/metrics")
        self.assertIn('culmen_requests_total{route="/search",status="200"} 1200', metrics)
        self.assertIn("culmen_questions_total 1200", metrics)

    def test_a_sharded_index(self):
        self.culmen("build", "hotels.csv", "-o", "shards", "--id", "id", "--label", "name", "--shards", 2)
        self.serve(directory="shards")
        expected = self.from_program("-w", "price=-1,rating=20", "-k", 3)
        self.assertEqual(self.search(QUESTION)["queries"][0]["results"], expected["queries"][0]["results"])
        self.assertEqual(len(self.answer("GET", "/info")["shards"]), 2)


class ServeRowsTest(ServeCase):
    def test_describes_the_index(self):
        self.serve()
        self.assertEqual(self.answer("GET", "/info"), json.loads(self.culmen("info", "index", "--json")[0]))

    def test_gets_rows(self):
        self.serve()
        answer = self.answer("GET", "/get?ids=9,1,7")
        self.assertEqual(self.answer("GET", "/get?ids=9%2C%31%2c7"), answer)
        self.assertEqual([row and row["id"] for row in answer["rows"]], [9, None, 7])
        self.assertEqual(answer["rows"][0]["attributes"], {"price": 200, "rating": 9.5})
        self.assertEqual(self.answer("POST", "/get", {"ids": [9, 1, 7]}), answer)
        for path in [
            "/get",
            "/get?ids=",
            "/get?ids=1,",
            "/get?ids=a",
            "/get?ids=1%",
            "/get?ids=1%2",
            "/get?ids=9223372036854775808",
        ]:
            self.refuses(400, "ids", "GET", path)

    def test_of_unsigned_ids(self):
        large, largest = 2**63, 2**64 - 1
        self.write("table.csv", f"id,price\n{largest},1\n7,1\n{large},1\n8,1\n")
        self.culmen("build", "table.csv", "-o", "index", "--id", "id", "--force")
        self.serve_writable()
        self.assertEqual(self.answer("GET", "/info", token=TOKEN)["id_type"], "uint64")
        found = self.answer("GET", f"/get?ids={largest},7", token=TOKEN)
        self.assertEqual([row["id"] for row in found["rows"]], [largest, 7])
        self.assertEqual(self.answer("POST", "/get", {"ids": [largest, 7]}, token=TOKEN), found)
        question = {"weights": {"price": 1}, "k": 3}
        answer = self.answer("POST", "/search", question, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in answer["results"]], [7, 8, large])
        rest = self.answer("POST", "/search", question | {"after": answer["after"]}, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in rest["results"]], [largest])
        some = self.answer("POST", "/search", question | {"not_ids": [7, large]}, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in some["results"]], [8, largest])
        some = self.answer("POST", "/search", question | {"where": f"id >= {large}"}, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in some["results"]], [large, largest])
        why = self.answer("POST", "/why", question | {"id": large}, token=TOKEN)
        self.assertEqual((why["id"], why["rank"], why["row"]["id"]), (large, 3, large))
        self.answer("POST", "/upsert", {"rows": [{"id": largest, "attributes": {"price": 2}}]}, token=TOKEN)
        answer = self.answer("POST", "/search", question, token=TOKEN)["queries"][0]
        self.assertEqual(answer["results"][0]["id"], largest)
        self.assertEqual(self.answer("POST", "/erase", {"ids": [largest, 7]}, token=TOKEN)["erased"], 2)
        for ids in [[-1], [2**64]]:
            self.refuses(400, "ids", "POST", "/get", {"ids": ids}, token=TOKEN)
        self.refuses(400, "ids", "POST", "/insert", {"rows": [{"attributes": {"price": 2}}]}, token=TOKEN)

    def test_of_text_ids(self):
        self.check_text_ids("index")

    def test_of_text_ids_in_shards(self):
        self.check_text_ids("shards", "--shards", 3)

    def check_text_ids(self, directory, *options):
        self.write("table.csv", 'sku,price\nB-2,1\n"a,b",1\nA-10,1\nA-9,1\n')
        self.culmen("build", "table.csv", "-o", directory, "--id", "sku", "--force", *options)
        self.serve_writable(directory=directory)
        self.assertEqual(self.answer("GET", "/info", token=TOKEN)["id_type"], "text")
        found = self.answer("GET", "/get?ids=A-9,none,B-2", token=TOKEN)
        self.assertEqual([row and row["id"] for row in found["rows"]], ["A-9", None, "B-2"])
        self.assertEqual(self.answer("POST", "/get", {"ids": ["A-9", "none", "B-2"]}, token=TOKEN), found)
        question = {"weights": {"price": 1}, "k": 3}
        answer = self.answer("POST", "/search", question, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in answer["results"]], ["A-10", "A-9", "B-2"])
        self.assertNotIn("label", answer["results"][0])
        in_quotes = self.answer("GET", "/get?ids=%22a,b%22,A-9", token=TOKEN)
        self.assertEqual([row["id"] for row in in_quotes["rows"]], ["a,b", "A-9"])
        last = self.answer("POST", "/search", question | {"after": '1,"A-9"'}, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in last["results"]], ["B-2", "a,b"])
        rest = self.answer("POST", "/search", question | {"after": answer["after"]}, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in rest["results"]], ["a,b"])
        some = self.answer("POST", "/search", question | {"not_ids": ["A-9", "B-2"]}, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in some["results"]], ["A-10", "a,b"])
        some = self.answer("POST", "/search", question | {"where": "id >= 'B'"}, token=TOKEN)["queries"][0]
        self.assertEqual([row["id"] for row in some["results"]], ["B-2", "a,b"])
        why = self.answer("POST", "/why", question | {"id": "A-9"}, token=TOKEN)
        self.assertEqual((why["id"], why["rank"], why["row"]["id"]), ("A-9", 2, "A-9"))
        self.assertEqual(self.answer("POST", "/why", question | {"id": "none"}, token=TOKEN), {"id": "none"})
        self.answer("POST", "/upsert", {"rows": [{"id": "new", "attributes": {"price": 2}}]}, token=TOKEN)
        answer = self.answer("POST", "/search", question, token=TOKEN)["queries"][0]
        self.assertEqual(answer["results"][0]["id"], "new")
        self.assertEqual(self.answer("POST", "/erase", {"ids": ["new", "A-9", "none"]}, token=TOKEN)["erased"], 2)
        self.refuses(400, "ids", "POST", "/get", {"ids": [7]}, token=TOKEN)
        self.refuses(400, "texts", "POST", "/insert", {"rows": [{"attributes": {"price": 2}}]}, token=TOKEN)

    def test_explains(self):
        self.serve()
        plan = self.answer("POST", "/explain", QUESTION)["queries"][0]["plan"]
        self.assertIn(plan["engine"], ["scan", "bounded"])

    def test_says_why_a_row_is_where_it_is(self):
        self.serve()
        best = self.answer("POST", "/search", QUESTION)["queries"][0]["results"]
        for hit in best:
            why = self.answer("POST", "/why", {**QUESTION, "id": hit["id"]})
            self.assertEqual((why["rank"], why["score"]), (hit["rank"], hit["score"]))
            self.assertAlmostEqual(sum(part["part"] for part in why["parts"]), hit["score"])
        for scale in ["minmax", "zscore", "rank"]:
            why = self.answer("POST", "/why", {**QUESTION, "scale": scale, "id": 7})
            self.assertAlmostEqual(sum(part["part"] for part in why["parts"]), why["score"])
        why = self.answer("POST", "/why", {**QUESTION, "terms": "log(price)", "id": 7})
        self.assertAlmostEqual(sum(part["part"] for part in why["parts"]) + why["terms"], why["score"])
        self.assertNotIn("score", self.answer("POST", "/why", {**QUESTION, "where": "price < 1", "id": 7}))
        self.assertEqual(self.answer("POST", "/why", {**QUESTION, "id": 1}), {"id": 1})

    def test_shows_distributions(self):
        rows = "\n".join(f"{i},{i % 100},{'rare' if i % 50 == 0 else 'often'}" for i in range(2000))
        self.write("big.csv", "id,a,kind\n" + rows + "\n")
        self.culmen("build", "big.csv", "-o", "big", "--id", "id", "--attributes", "a")
        self.culmen("build", "big.csv", "-o", "big.shards", "--id", "id", "--attributes", "a", "--shards", 3)
        for directory in ["big", "big.shards"]:
            self.serve(directory=directory)
            found = self.answer("GET", "/distributions")
            (a,) = found["attributes"]
            self.assertEqual(sum(a["counts"]), found["rows"])
            self.assertTrue(0 <= a["low"] <= 3 and 96 <= a["high"] <= 99, a)
            self.assertTrue(all(0.3 < 48 * count / found["rows"] < 3 for count in a["counts"]), a)
            self.assertEqual(found["fields"], [{"name": "kind", "texts": ["often", "rare"]}])

    def test_follows_another_writer(self):
        self.serve()
        self.write("new.csv", "id,name,price,rating\n50,Bargain,1,10\n")
        self.culmen("insert", "index", "new.csv")
        for _ in range(100):
            best = self.answer("POST", "/search", QUESTION)["queries"][0]["results"][0]["id"]
            if best == 50:
                break
            time.sleep(0.1)
        self.assertEqual(best, 50)

    def test_goes_on_after_an_index_with_other_columns_replaced_it(self):
        self.serve()
        self.write("other.csv", "id,price,rating,city\n1,1,1,Roma\n")
        self.culmen("build", "other.csv", "-o", "index", "--id", "id", "--force", "--attributes", "price:low,rating")
        for _ in range(100):
            answer = self.answer("POST", "/search", QUESTION)["queries"][0]["results"]
            if answer[0]["id"] == 1:
                break
            time.sleep(0.1)
        self.assertEqual(answer[0]["fields"], {"city": "Roma"})


class ServeWritesTest(ServeCase):
    ROW = {"id": 50, "label": "Zum Löwen", "attributes": {"price": 30.5, "rating": 9}}

    def rows(self, *ids):
        return self.answer("POST", "/get", {"ids": ids}, token=TOKEN)["rows"]

    def test_writes_rows_that_it_reads_back(self):
        self.serve_writable()
        self.assertEqual(self.answer("POST", "/insert", {"rows": [self.ROW]}, token=TOKEN)["inserted"], 1)
        self.assertEqual(self.rows(50), [self.ROW])
        changed = {**self.ROW, "attributes": {"price": None, "rating": 8}}
        answer = self.answer("POST", "/upsert", {"rows": [changed, {**self.ROW, "id": 51}]}, token=TOKEN)
        self.assertEqual((answer["inserted"], answer["replaced"]), (1, 1))
        self.assertEqual(self.rows(50)[0]["attributes"]["price"], None)
        self.assertEqual(self.answer("POST", "/erase", {"ids": [50, 4000]}, token=TOKEN)["erased"], 1)
        self.assertEqual(self.rows(50, 51), [None, {**self.ROW, "id": 51}])
        without_id = {name: self.ROW[name] for name in ("label", "attributes")}
        first = self.answer("POST", "/insert", {"rows": [without_id]}, token=TOKEN)["first_id"]
        self.assertEqual(self.rows(first)[0]["label"], "Zum Löwen")
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(30), 0)
        self.assertIn("no fault found", self.culmen("verify", "index", "--deep")[0])
        self.assertIn("51,", self.culmen("get", "index", "--ids", "51")[0])

    def test_keeps_every_type_of_value(self):
        self.write(
            "typed.csv",
            "id,a,n,flag,day,at,zoned,text\n"
            '1,1.5,9007199254740993,true,2024-02-29,2024-02-29 12:30:00,2024-02-29T12:30:00.250Z,"x"\n',
        )
        self.culmen("build", "typed.csv", "-o", "typed", "--id", "id", "--attributes", "a")
        self.write("token", TOKEN)
        self.serve("--writable", "--token-file", "token", directory="typed")
        row = self.rows(1)[0]
        self.assertEqual(row["fields"]["n"], 9007199254740993)
        self.answer("POST", "/insert", {"rows": [{**row, "id": 2}]}, token=TOKEN)
        self.assertEqual(self.rows(2), [{**row, "id": 2}])
        gaps = {"id": 3, "attributes": {}, "fields": {}}
        self.answer("POST", "/insert", {"rows": [gaps]}, token=TOKEN)
        self.assertEqual(set(self.rows(3)[0]["fields"].values()), {None})
        for name, value in [("n", 1.5), ("n", True), ("flag", 1), ("day", "2023-02-29"), ("day", 20240101),
                            ("at", "2024-02-29T12:30:00Z"), ("at", "2024-02-29 12:30:00.5"), ("text", 5)]:  # fmt: skip
            fields = {**row["fields"], name: value}
            self.refuses(400, f"row 1: {name}: ", "POST", "/insert", {"rows": [{**row, "id": 4, "fields": fields}]},
                         token=TOKEN)  # fmt: skip

    def test_refuses_rows_and_changes_nothing(self):
        self.serve_writable()
        before = self.answer("GET", "/info")["version"]
        for path, body, says in [
            ("/insert", {}, "say which rows"),
            ("/insert", {"rows": {}}, "rows: expected an array"),
            ("/insert", {"rows": [5]}, "row 1: a row: expected an object"),
            ("/insert", {"rows": [self.ROW, {**self.ROW, "id": 7}]}, "7"),
            ("/insert", {"rows": [self.ROW, self.ROW]}, "50"),
            ("/insert", {"rows": [self.ROW, {"attributes": {}}]}, "row 2: either every row has an id"),
            ("/insert", {"rows": [{**self.ROW, "colour": 1}]}, 'a row has no "colour"'),
            ("/insert", {"rows": [{**self.ROW, "attributes": {"prize": 1}}]}, 'did you mean "price"'),
            ("/insert", {"rows": [{**self.ROW, "attributes": {"price": "1"}}]}, "row 1: price: expected a number"),
            ("/insert", {"rows": [{**self.ROW, "attributes": {"price": 2**53 + 1}}]}, "float64 holds exactly"),
            ("/insert", {"rows": [self.ROW], "expected_version": 99}, "99"),
            ("/upsert", {"rows": [{"attributes": {"price": 1}}]}, "need their ids"),
            ("/insert", {"rows": [self.ROW], "duplicates": "both"}, "error, first, last"),
            ("/insert", {"rows": [self.ROW], "duplicates": True}, "duplicates: expected"),
            ("/upsert", {"rows": [self.ROW], "duplicates": "first"}, "duplicates is for /insert"),
            ("/insert", {"rows": [self.ROW], "expire": 5}, "expire: expected"),
            ("/insert", {"rows": [self.ROW], "expire": " "}, "expire is empty"),
            ("/erase", {"where": " \r\n"}, "where is empty"),
            ("/insert", {"rows": [self.ROW], "expire": "prize > 1"}, 'did you mean "price"'),
            ("/erase", {"ids": ["7"]}, "ids: expected a whole number"),
            ("/erase", {}, "say which rows"),
            ("/erase", {"ids": [7], "where": "price > 1"}, "say which rows"),
            ("/erase", {"where": ""}, "where is empty"),
            ("/erase", {"where": "price >"}, "price >"),
            ("/erase", {"ids": [7], "expected_version": 99}, "99"),
            ("/erase", {"ids": [7], "expected_version": -1}, "0 or more"),
            ("/erase", {"ids": [7], "expected_version": "1"}, "expected_version: expected a whole number"),
        ]:
            with self.subTest(body=body):
                self.refuses(400, says, "POST", path, body, token=TOKEN)
        self.assertEqual(self.answer("GET", "/info")["version"], before)

    def test_one_of_several_rows_with_an_id_is_kept(self):
        self.serve_writable()
        rows = [{"id": id, "attributes": {"price": price, "rating": 5}} for id, price in [(60, 1), (61, 2), (60, 3)]]
        body = {"rows": rows, "duplicates": "last"}
        self.assertEqual(self.answer("POST", "/insert", body, token=TOKEN)["inserted"], 2)
        kept = self.answer("GET", "/get?ids=60,61")["rows"]
        self.assertEqual([row["attributes"]["price"] for row in kept], [3, 2])

    def test_a_repeated_batch_is_written_once(self):
        self.serve_writable()
        version = self.answer("GET", "/info")["version"]
        body = {"rows": [self.ROW], "expected_version": version}
        self.assertEqual(self.answer("POST", "/insert", body, token=TOKEN)["inserted"], 1)
        self.assertTrue(self.answer("POST", "/insert", body, token=TOKEN)["repeated"])

    def test_a_repeated_erasure_is_made_once(self):
        self.serve_writable()
        for rows in ({"ids": [7]}, {"where": "price > 100 and price < 150"}):
            version = self.answer("GET", "/info")["version"]
            body = {**rows, "expected_version": version}
            self.assertEqual(self.answer("POST", "/erase", body, token=TOKEN), {"version": version + 1, "erased": 1})
            again = {"version": version + 1, "erased": 0, "repeated": True}
            self.assertEqual(self.answer("POST", "/erase", body, token=TOKEN), again)
            self.refuses(400, f"expects version {version - 1}", "POST", "/erase",
                         {**rows, "expected_version": version - 1}, token=TOKEN)  # fmt: skip
        self.assertEqual(self.answer("GET", "/info")["rows"], 2)

    def test_a_sharded_index_takes_a_repeated_batch_once(self):
        self.culmen("build", "hotels.csv", "-o", "shards", "--id", "id", "--label", "name", "--shards", 3)
        self.serve_writable(directory="shards")
        rows = [{**self.ROW, "id": id} for id in range(40, 60)]

        def versions():
            return [shard["version"] for shard in self.answer("GET", "/info")["shards"]]

        before = versions()
        for wrong, says in [
            (7, "give an array of 3"),
            (before[1:], "give an array of 3"),
            ([*before[1:], "1"], "expected a whole number"),
            ([*before[1:], -1], "0 or more"),
            ([*before[1:], before[0] + 2], f"expects version {before[0] + 2}"),
        ]:
            self.refuses(400, says, "POST", "/upsert", {"rows": rows, "expected_version": wrong}, token=TOKEN)
        without_ids = {"rows": [{"attributes": {"price": 1, "rating": 1}}], "expected_version": before}
        self.refuses(400, "need ids", "POST", "/insert", without_ids, token=TOKEN)
        self.assertEqual(versions(), before)
        one = {**self.ROW, "id": 100}
        while versions()[0] == before[0]:  # then it looks as if the first shard had its part already
            before, one["id"] = versions(), one["id"] + 1
            self.answer("POST", "/upsert", {"rows": [one]}, token=TOKEN)
        after = [version + 1 for version in before]
        body = {"rows": rows, "expected_version": before}
        done = self.answer("POST", "/upsert", body, token=TOKEN)
        self.assertTrue(0 < done["inserted"] < len(rows) and "repeated" not in done, done)
        self.assertEqual(versions(), after)
        erasure = {"where": "id >= 40", "expected_version": before}
        for path, again in [("/upsert", body), ("/erase", erasure)]:
            done = self.answer("POST", path, again, token=TOKEN)
            self.assertTrue(done["repeated"] and done["version"] == sum(after), done)
        self.assertEqual(versions(), after)
        erasure["expected_version"] = after
        self.assertGreater(self.answer("POST", "/erase", erasure, token=TOKEN)["erased"], 1)
        self.assertTrue(self.answer("POST", "/erase", erasure, token=TOKEN)["repeated"])

    def test_rows_expire_with_an_insert(self):
        self.serve_writable()
        body = {"rows": [self.ROW], "expire": "price < 100"}  # the new row, too
        done = self.answer("POST", "/insert", body, token=TOKEN)
        self.assertEqual((done["inserted"], done["erased"]), (1, 3))
        self.assertEqual(self.answer("GET", "/info")["rows"], 2)
        self.assertEqual(self.answer("GET", "/info")["version"], done["version"])
        body = {"rows": [{**self.ROW, "id": 3}], "expire": "price > 150"}
        done = self.answer("POST", "/upsert", body, token=TOKEN)
        self.assertEqual((done["inserted"], done["replaced"], done["erased"]), (0, 1, 1))

    def test_needs_the_token(self):
        self.serve_writable()
        body = {"rows": [self.ROW]}
        for token in [None, "x", TOKEN[:-1], TOKEN + "x", TOKEN[:-1] + "x", TOKEN * 2]:
            headers = self.refuses(401, "token", "POST", "/insert", body, token=token)
            self.assertEqual(headers["WWW-Authenticate"], "Bearer")
        self.refuses(401, "token", "POST", "/erase", body, headers={"Authorization": "Basic " + TOKEN})
        self.answer("POST", "/search", QUESTION)  # reading needs none on this machine

    def test_takes_no_changes_unless_it_is_writable(self):
        self.write("token", TOKEN)
        self.serve("--token-file", "token")
        self.refuses(403, "--writable", "POST", "/insert", {"rows": [self.ROW]}, token=TOKEN)
        self.refuses(403, "--writable", "POST", "/insert", {"rows": [self.ROW]})

    def test_no_acknowledged_row_is_lost_by_a_kill(self):
        self.serve_writable()
        acknowledged, failed = [], []

        def writer(first):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                for i in range(first, first + 100000):
                    body = {"rows": [{**self.ROW, "id": i}]}
                    status, _, answer = self.ask("POST", "/insert", body, token=TOKEN, connection=connection)
                    (acknowledged if status == 200 else failed).append(i)
            except (OSError, http.client.HTTPException):
                pass

        threads = [threading.Thread(target=writer, args=(10**6 * (1 + i),)) for i in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        self.server.kill()
        for thread in threads:
            thread.join()
        self.assertGreater(len(acknowledged), 10)
        self.assertEqual(failed, [])
        self.write("ids.txt", "\n".join(map(str, acknowledged)))
        out, _ = self.culmen("get", "index", "--ids-file", "ids.txt")
        self.assertEqual(len(out.splitlines()), 1 + len(acknowledged))


class ServeGuardTest(ServeCase):
    def test_refuses_options_that_are_not_safe(self):
        self.write("token", TOKEN)
        self.write("short", "short\n")
        self.refused("serve", "index", "--writable", code=2, says="--token-file")
        self.refused("serve", "index", "--bind", "0.0.0.0", code=2, says="--token-file")
        self.refused("serve", "index", "--token-file", "short", code=2, says="16 characters")
        self.refused("serve", "index", "--token-file", "nothing", code=1, says="nothing")
        self.refused("serve", "nothing", code=1, says="nothing")
        self.refused("serve", "index", "--bind", "::nonsense", "--token-file", "token", code=1, says="::nonsense")

    def test_all_requests_need_the_token_from_other_machines(self):
        self.write("token", TOKEN)
        self.serve("--bind", "0.0.0.0", "--token-file", "token", "--host", "Hotels.Example")
        self.refuses(401, "token", "POST", "/search", QUESTION)
        self.refuses(401, "token", "GET", "/metrics")
        self.answer("POST", "/search", QUESTION, token=TOKEN)
        self.answer("GET", "/health")
        self.answer("POST", "/search", QUESTION, token=TOKEN, headers={"Host": "hotels.example:80"})

    def test_says_what_to_do_about_a_port_that_is_taken(self):
        self.serve()
        self.refused("serve", "index", "--port", str(self.port), code=1, says="--port")

    def test_refuses_names_and_origins_of_others(self):
        self.serve()
        for host in ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"]:
            self.refuses(421, "Host", "POST", "/search", QUESTION, headers={"Host": host})
        for host in ["localhost", f"LOCALHOST:{self.port}", "[::1]:1"]:
            self.answer("POST", "/search", QUESTION, headers={"Host": host})
        for origin in ["http://evil.example", "null"]:
            self.refuses(403, "other sites", "POST", "/search", QUESTION, headers={"Origin": origin})
        host = f"127.0.0.1:{self.port}"
        _, headers, _ = self.ask("POST", "/search", QUESTION, headers={"Origin": "http://" + host, "Host": host})
        self.assertNotIn("Access-Control-Allow-Origin", headers)
        # What a page of another site can send without asking the server first.
        for other in ["text/plain", "application/jsonx", "application/json-seq", "x/application/json", "application"]:
            self.refuses(415, "JSON", "POST", "/search", QUESTION, headers={"Content-Type": other})
        self.answer("POST", "/search", QUESTION, headers={"Content-Type": "Application/JSON ; charset=utf-8"})

    def test_paths_and_methods(self):
        self.serve("--no-page")
        for path in ["/", "/etc/passwd", "/../index/MANIFEST", "//search", "/search/", "/index", "*", "/%2e%2e/"]:
            self.refuses(404, "nothing at this path", "GET", path)
        self.assertEqual(self.refuses(405, "POST", "GET", "/search")["Allow"], "POST")
        self.assertEqual(self.refuses(405, "GET", "DELETE", "/info")["Allow"], "GET, HEAD")
        self.assertEqual(self.refuses(405, "GET or POST", "OPTIONS", "/get")["Allow"], "GET, HEAD, POST")
        self.refuses(405, "POST", "OPTIONS", "/search")
        self.refuses(405, "GET", "TRACE", "/health")
        status, headers, body = self.ask("HEAD", "/health")
        self.assertEqual((status, headers["Content-Length"], body), (200, "16", ""))

    def test_damaged_requests(self):
        self.serve()
        head = "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        body = json.dumps(QUESTION)
        for name, request in {
            "no http": "\x16\x03\x01 hello\r\n\r\n",
            "no host": "GET /info HTTP/1.1\r\nConnection: close\r\n\r\n",
            "two lengths": head + f"Content-Length: 3\r\nContent-Length: {len(body)}\r\n\r\n" + body,
            "length and chunks": head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "chunks and length": head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
            "chunks of nothing": head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "negative length": head + "Content-Length: -1\r\n\r\n",
            "huge length": head + "Content-Length: 99999999999999999999999\r\n\r\n",
            "large length": head + "Content-Length: 1000000000000\r\n\r\n",
            "folded field": head + "X: a\r\n b\r\nContent-Length : 3\r\n\r\nabc",
            "long header": head + "X: " + "a" * 20000 + "\r\n\r\n",
            "bare line ends": head.replace("\r\n", "\n") + "\n",
            "another encoding": head
            + "Transfer-Encoding: xchunked\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "encodings": head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "two encodings": head + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "two hosts": head + f"Host: evil.example\r\nContent-Length: {len(body)}\r\n\r\n" + body,
            "two types": head + f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n" + body,
            "elsewhere": "GET http://evil.example/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        }.items():
            with self.subTest(name):
                said = self.send(request.encode("latin-1"))
                self.assertRegex(said, r"\AHTTP/1\.1 4\d\d ")
                self.assertEqual(said.count("HTTP/1.1 "), 1)  # what follows is no second request
                self.assertIn("Connection: close", said)
        whole = head + f"Content-Length: {len(body)}\r\n\r\n" + body
        self.assertEqual(self.send((whole * 3).encode()).count("HTTP/1.1 200"), 3)  # a pipeline is
        self.assertEqual(self.send(whole[:-5].encode(), half_close=True), "")
        many = json.dumps({"queries": [QUESTION] * 50})  # are not answered where they are read
        many = head + f"Content-Length: {len(many)}\r\n\r\n{many}"
        self.assertIn("HTTP/1.1 200", self.send(many.encode(), half_close=True))
        absolute = f"GET HTTP://localhost:{self.port}/health HTTP/1.1\r\nHost: evil.example\r\n\r\n"
        self.assertIn("HTTP/1.1 200", self.send(absolute.encode()))
        chunked = head + "Transfer-Encoding: chunked\r\n\r\n" + f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"
        self.assertIn("HTTP/1.1 200", self.send(chunked.encode()))
        invited = head + f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
        self.assertIn("HTTP/1.1 100", self.send(invited.encode()))
        old = "GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n"
        self.assertRegex(self.send(old.encode()), r"(?s)HTTP/1\.0 200 .*ok")

    def test_limits(self):
        self.serve("--max-body", 1000, "--max-connections", 5)
        others = self.num_sockets()
        self.refuses(413, "larger", "POST", "/search", {**QUESTION, "where": "price > 1" + " " * 2000})
        self.wait_for_sockets(others)  # the refused one has been closed
        idle = [socket.create_connection(("127.0.0.1", self.port), timeout=5) for _ in range(5)]
        self.wait_for_sockets(others + 5)
        extra = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        extra.settimeout(5)
        try:
            self.assertEqual(extra.recv(100), b"")
        except ConnectionResetError:
            pass
        extra.close()
        for client in idle:
            client.close()
        for _ in range(100):
            try:
                self.answer("GET", "/health")
                break
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        self.answer("GET", "/health")

    def num_sockets(self):
        """That the server process has."""
        folder = f"/proc/{self.server.pid}/fd"
        links = []
        for name in os.listdir(folder):
            try:
                links.append(os.readlink(f"{folder}/{name}"))
            except OSError:
                pass
        return sum(link.startswith("socket:") for link in links)

    def wait_for_sockets(self, number):
        for _ in range(200):
            if self.num_sockets() == number:
                return
            time.sleep(0.05)

    def test_a_question_has_a_time_limit(self):
        self.write("big.csv", "a,b\n" + "\n".join(f"{i % 977},{i % 1009}" for i in range(400000)) + "\n")
        self.culmen("build", "big.csv", "-o", "big")
        self.serve("--time-limit", 1, "--max-rows", 400000, directory="big")
        terms = " + ".join(f"decay(a, {i}, 5, gauss)" for i in range(50))  # slow on any number of cores
        query = {"weights": {"b": -1}, "k": 500, "engine": "scan", "terms": terms}
        slow = {"queries": [query] * 800}
        headers = self.refuses(503, "longer", "POST", "/search", slow)
        self.assertEqual(headers["Retry-After"], "1")

    def test_stops_when_it_is_told(self):
        process = self.serve()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.ask("GET", "/health", connection=connection)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(5), 0)  # an idle connection does not hold it up
        connection.close()


class ServeDescriptionTest(ServeCase):
    def fits(self, value, schema, where):
        """Fails unless the value is as the schema says: the part of JSON Schema that the description uses."""
        if "$ref" in schema:
            schema = self.description["components"]["schemas"][schema["$ref"].split("/")[-1]]
        if "oneOf" in schema:
            return self.fits_one(value, schema["oneOf"], where)
        if "enum" in schema:
            return self.assertIn(value, schema["enum"], where)
        if "const" in schema:
            return self.assertEqual(value, schema["const"], where)
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        types = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
        is_kind = [value is None if kind == "null" else isinstance(value, types[kind]) for kind in kinds]
        self.assertTrue(any(is_kind), f"{where}: {value} is no {kinds}")
        if "pattern" in schema:
            self.assertRegex(value, schema["pattern"], where)
        if isinstance(value, list):
            for i, item in enumerate(value):
                self.fits(item, schema["items"], f"{where}[{i}]")
        if isinstance(value, dict):
            self.assertLessEqual(set(schema.get("required", [])), set(value), where)
            for name, member in value.items():
                part = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
                self.assertIsNot(part, False, f"{where}.{name} is not described")
                if part is not True:
                    self.fits(member, part, f"{where}.{name}")

    def fits_one(self, value, schemas, where):
        problems = []
        for schema in schemas:
            try:
                return self.fits(value, schema, where)
            except AssertionError as error:
                problems.append(str(error))
        self.fail(f"{where}: {problems}")

    def test_every_path_does_what_the_description_says(self):
        self.serve_writable()
        self.description = self.answer("GET", "/openapi.json")
        done = set()
        for path, methods in self.description["paths"].items():
            for method, operation in methods.items():
                target = path + "".join(
                    f"?{one['name']}={','.join(map(str, one['example']))}" for one in operation.get("parameters", [])
                )
                content = operation.get("requestBody", {}).get("content", {}).get("application/json")
                if content:
                    self.fits(content["example"], content["schema"], f"{path}: example")
                status, headers, answer = self.ask(
                    method.upper(),
                    target,
                    content and content["example"],
                    token=TOKEN if "security" in operation else None,
                )
                self.assertEqual(status, 200, answer)
                ((kind, described),) = operation["responses"]["200"]["content"].items()
                self.assertTrue(headers["Content-Type"].startswith(kind), path)
                self.fits(answer, described["schema"], path)
                if content:
                    found, _, error = self.ask(method.upper(), path, {"nonsense": 1}, token=TOKEN)
                    self.assertEqual(found, 400)
                    problem = operation["responses"]["default"]["content"]["application/json"]["schema"]
                    self.fits(error, problem, f"{path}: error")
                done.add(path)
        self.assertEqual(len(done), 13)

    def test_questions_have_the_described_members(self):
        self.serve()
        self.description = self.answer("GET", "/openapi.json")
        known = set(self.description["components"]["schemas"]["Question"]["properties"])
        _, _, answer = self.ask("POST", "/search", {"nonsense": 1})
        listed = answer["error"]["message"].split("it may have ")[1]
        self.assertEqual(set(listed.split(", ")), known)
        for cursor in ("9.5,-7", "-1e-7,18446744073709551615", '1,"a,b"', "1,two\nlines", '1,""'):
            self.fits({"weights": {}, "after": cursor}, {"$ref": "#/components/schemas/Question"}, "a question")

    def test_metrics_are_in_the_text_format(self):
        self.serve()
        self.answer("POST", "/search", QUESTION)
        self.ask("GET", "/nothing")
        for line in self.answer("GET", "/metrics").splitlines():
            self.assertRegex(
                line, r'\A(# (HELP|TYPE) culmen_\w+ .+|culmen_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)\Z'
            )
        metrics = self.answer("GET", "/metrics")
        self.assertIn('culmen_requests_total{route="other",status="404"} 1', metrics)
        self.assertIn("culmen_questions_total 1\n", metrics)
        self.assertIn('le="+Inf"} 3\n', metrics)


if __name__ == "__main__":
    unittest.main()
