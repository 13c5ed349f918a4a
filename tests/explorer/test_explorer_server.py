"""The page that is served: who is answered, and what new rows get."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import threading
import zlib
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from manifolia.exceptions import ManifoliaWarning, TableError
from manifolia.explorer import LivePage, build_payload
from manifolia.explorer.handler import MOST_BYTES, UploadError, read_upload


class Client:
    """A browser that can be told to lie."""

    def __init__(self, page: LivePage) -> None:
        parts = urlsplit(page.url)
        self.address = parts.netloc
        self.token = parse_qs(parts.query)["token"][0]
        answer = self.ask("GET", f"/?token={self.token}", cookie=None)
        assert answer.status == 303
        self.set_cookie = answer.headers["Set-Cookie"]
        self.cookie = self.set_cookie.split(";")[0]

    def ask(self, method, path, body=None, *, cookie="", host=None, origin="", headers=()):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", self.address if host is None else host)
            given = self.cookie if cookie == "" else cookie
            if given is not None:
                connection.putheader("Cookie", given)
            if method == "POST" and origin is not None:
                connection.putheader("Origin", origin or f"http://{self.address}")
            sent = dict(headers)
            if body is not None:
                sent.setdefault("Content-Length", str(len(body)))
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            answer.body = answer.read()
            return answer
        finally:
            connection.close()

    def post(self, path, body, kind="application/json", **options):
        return self.ask("POST", path, body, headers={"Content-Type": kind, **options.pop("headers", {})}, **options)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 4)), columns=["a", "b", "c", "d"])
    return X, (X["a"] > 0).astype(int).rename("class")


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return mf.RFPHATE(n_trees=30, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def made(data, model):
    """The content of the page, computed once."""
    X, y = data
    with mf.explore(model, X, y, live=True) as served:
        return served.payload, served._context


@pytest.fixture
def page(made):
    with LivePage(*made) as served:
        yield served


@pytest.fixture
def client(page):
    return Client(page)


def test_the_token_is_swapped_for_a_cookie_that_scripts_and_other_sites_cannot_use(page, client):
    assert page.url.startswith("http://127.0.0.1:")
    assert len(client.token) >= 40
    assert {"HttpOnly", "SameSite=Strict"} <= {text.strip() for text in client.set_cookie.split(";")}
    assert client.token not in client.set_cookie
    shown = client.ask("GET", "/")
    assert shown.status == 200
    policy = shown.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert shown.headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in shown.headers
    assert client.token.encode() not in shown.body


@pytest.mark.parametrize("path", ["/", "/explorer.css", "/live.js", "/col/x", "/point/0", "/events", "/nothing"])
def test_nothing_is_answered_without_the_cookie(client, path):
    for cookie in (None, "manifolia=1", client.cookie[:-1], client.cookie + "x", 'a="'):
        answer = client.ask("GET", path, cookie=cookie)
        assert answer.status == 403, cookie
        assert b"token" in answer.body


@pytest.mark.parametrize("token", ["", "x", "ä"])
def test_a_wrong_token_is_refused(client, token):
    for wrong in (token, client.token[:-1] + token):
        answer = client.ask("GET", f"/?token={wrong.encode('utf-8').hex() if token == 'ä' else wrong}", cookie=None)
        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", "evil.127.0.0.1:{port}", ""])
def test_another_host_is_refused(client, host):
    """A site whose name was made to point here (DNS rebinding) sends its own name."""
    port = client.address.split(":")[1]
    for path in ("/", f"/?token={client.token}"):
        answer = client.ask("GET", path, host=host.format(port=port))
        assert answer.status == 421
        assert "Set-Cookie" not in answer.headers
    assert client.post("/selection", b'{"points": [1]}', host=host.format(port=port)).status == 421
    assert client.ask("GET", "/", host=f"localhost:{port}").status == 200


def test_what_is_sent_must_come_from_the_page(page, client):
    wanted = b'{"points": [1, 2]}'
    for origin in ("http://example.org", "null", f"https://{client.address}", f"http://{client.address}.example.org"):
        assert client.post("/selection", wanted, origin=origin).status == 403
        assert client.post("/transform", b"a,b,c,d\n1,2,3,4\n", "text/csv", origin=origin).status == 403
    assert client.post("/selection", wanted, origin=None).status == 403
    assert client.post("/selection", wanted, headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    assert page.selection is None
    assert client.post("/selection", wanted).status == 204
    assert page.selection is not None


def test_what_forms_can_send_or_is_too_large_is_refused(page, client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert client.post("/transform", b"a,b,c,d\n1,2,3,4\n", kind).status == 415
        assert client.post("/selection", b'{"points": []}', kind).status == 415
    assert client.post("/selection", b'{"points": []}', "text/csv").status == 415
    too_long = client.ask(
        "POST", "/transform", headers={"Content-Type": "text/csv", "Content-Length": str(MOST_BYTES + 1)}
    )
    assert too_long.status == 413
    assert client.ask("POST", "/transform", headers={"Content-Type": "text/csv"}).status == 411
    assert client.ask("POST", "/transform", headers={"Content-Type": "text/csv", "Content-Length": "-1"}).status == 411
    chunked = {"Content-Type": "text/csv", "Transfer-Encoding": "chunked", "Content-Length": "4"}
    assert client.ask("POST", "/transform", headers=chunked).status == 411
    assert client.post("/elsewhere", b"{}").status == 404
    assert client.ask("PUT", "/selection").status == 501
    assert page.payload.meta["n_new"] == 0


def test_arrays_and_points_are_those_of_the_page(page, client, model):
    shown = client.ask("GET", "/").body.decode()
    meta = json.loads(re.search(r'id="meta" data-live>(.*?)</script>', shown).group(1))
    assert meta == page.payload.meta
    for name, item in meta["arrays"].items():
        raw = zlib.decompress(client.ask("GET", f"/col/{name}").body)
        np.testing.assert_array_equal(np.frombuffer(raw, "<" + item["dtype"]), page.payload.arrays[name])
    assert client.ask("GET", "/col/nothing").status == 404
    point = json.loads(client.ask("GET", "/point/7").body)
    assert point["row"] == page.payload.arrays["row"][7]
    np.testing.assert_allclose([point["x"], point["y"]], model.embedding_[point["row"]], rtol=1e-5)
    assert point["reasons"][0]["feature"] in "abcd"
    weights = [reason["weight"] for reason in point["reasons"]]
    assert weights == sorted(weights, reverse=True)
    for wrong in ("90", "-1", "1.0", "", "9" * 40, "²"):
        assert client.ask("GET", f"/point/{wrong.encode().hex() if wrong == '²' else wrong}").status == 404


def test_reasons_of_rows_that_were_not_in_the_sample_are_worked_out(data, model, monkeypatch):
    from manifolia.explorer.parts import effects

    X, y = data
    monkeypatch.setattr(effects, "_NODE_VISITS", 1)
    monkeypatch.setattr(effects, "_LEAST_ROWS", 30)
    with mf.explore(model, X, y, live=True, parts=["reasons"]) as page:
        lines = page.payload.arrays["reasons.feature"].reshape(90, -1)
        (point, *_) = np.flatnonzero((lines == 2**16 - 1).all(axis=1))
        told = json.loads(Client(page).ask("GET", f"/point/{point}").body)
        found = page._context.effects.of_rows(np.array([told["row"]])).weight[0]
    assert [reason["feature"] for reason in told["reasons"]] == ["abcd"[f] for f in np.argsort(-found) if found[f] > 0]
    np.testing.assert_allclose([reason["weight"] for reason in told["reasons"]], -np.sort(-found[found > 0]))


def test_the_selection_can_be_read(page, client):
    rows = page.payload.arrays["row"]
    assert client.post("/selection", json.dumps({"points": [5, 3, 5]}).encode()).status == 204
    np.testing.assert_array_equal(page.selection, np.unique(rows[[5, 3]]))
    points = ("[90]", "[-1]", "[1.5]", "[true]", "1")
    for wrong in (b"[1]", b"{", b"[" * 9000, *(f'{{"points": {text}}}'.encode() for text in points)):
        assert client.post("/selection", wrong).status == 400
    np.testing.assert_array_equal(page.selection, np.unique(rows[[5, 3]]))
    assert client.post("/selection", b'{"points": null}').status == 204
    assert page.selection is None


@pytest.mark.parametrize("kind", ["text/csv", "application/json"])
def test_new_rows_are_placed_as_by_the_model(page, client, data, model, kind):
    new = data[0].iloc[:3].add([0.25, 0.0, 0.0, 40.0])
    sent = new.to_csv(index=False) if kind == "text/csv" else new.to_json(orient="records")
    answer = client.post("/transform", sent.encode(), kind)
    assert answer.status == 200, answer.body
    said = json.loads(answer.body)
    assert (said["n"], said["n_new"]) == (3, 3)
    np.testing.assert_allclose(np.c_[said["x"], said["y"]], model.transform(new), rtol=1e-6)
    np.testing.assert_allclose(said["novelty"], model.novelty(new), rtol=1e-6)
    assert said["columns"]["predicted class"] == model.forest_.predict(new.to_numpy()).tolist()
    assert all(len(reasons) > 0 for reasons in said["reasons"])
    again = client.post("/transform", sent.encode(), kind)
    assert json.loads(again.body)["n_new"] == 6
    payload = page.payload
    assert payload.meta["n_new"] == 6
    assert len(payload.arrays["novelty.flag"]) == 6
    spec = payload.meta["coordinates"]["x"]
    np.testing.assert_allclose(
        np.tile(model.transform(new)[:, 0], 2), payload.arrays["x"][90:] * spec["scale"] + spec["offset"], rtol=1e-4
    )


@pytest.mark.parametrize(
    ("sent", "kind", "said"),
    [
        (b"", "text/csv", "no rows"),
        (b"a,b\n1,2\n", "text/csv", "no column 'c'"),
        (b"{", "application/json", "not JSON"),
        (b"[" * 20000, "application/json", "not JSON"),
        (b"[1, 2]", "application/json", "no rows"),
        (b'[{"a": [1]}]', "application/json", "no rows"),
        (b'{"a": [1], "b": [1, 2]}', "application/json", "not of one length"),
        (b"\x80\x04\x95cos\nsystem\n", "application/json", "not JSON"),
    ],
)
def test_what_cannot_be_placed_is_said(page, client, sent, kind, said):
    answer = client.post("/transform", sent, kind)
    assert answer.status == 422
    assert said in answer.body.decode()
    assert page.payload.meta["n_new"] == 0


def test_work_is_told_as_it_goes_on(page, client, data):
    heard = []

    def listen():
        connection = http.client.HTTPConnection(client.address, timeout=30)
        connection.request("GET", "/events", headers={"Cookie": client.cookie})
        answer = connection.getresponse()
        ready.set()
        for line in answer:
            if line.startswith(b"data: "):
                heard.append(json.loads(line[6:]))
                if heard[-1]["stage"] == "page":
                    break
        connection.close()

    ready = threading.Event()
    listener = threading.Thread(target=listen)
    listener.start()
    assert ready.wait(30)
    page.add(data[0].iloc[:2])
    listener.join(30)
    assert heard == [
        {"stage": "placing", "done": 0, "total": 2},
        {"stage": "placing", "done": 2, "total": 2},
        {"stage": "page", "done": 1, "total": 1},
    ]


def test_a_page_without_a_model_takes_no_rows_and_a_closed_one_answers_nothing(data):
    with LivePage(build_payload(np.eye(3))) as page:
        client = Client(page)
        answer = client.post("/transform", b"a\n1\n", "text/csv")
        assert (answer.status, b"no model" in answer.body) == (422, True)
        assert "serving" in repr(page)
    page.close()
    assert "closed" in repr(page)
    with pytest.raises(OSError, match="refused"):
        client.ask("GET", "/")
    with pytest.warns(ManifoliaWarning, match="other machines"):
        LivePage(build_payload(np.eye(3)), host="0.0.0.0").close()


def test_rows_given_at_the_start_are_there_and_rows_from_python_join(data, model):
    X, y = data
    with mf.explore(model, X, y, live=True, new=X.iloc[:2]) as page:
        assert page.payload.meta["n_new"] == 2
        placed = page.add(X.iloc[2:5])
        np.testing.assert_allclose(placed.new.Y, model.transform(X.iloc[2:5]))
        assert page.payload.meta["n_new"] == 5
        with pytest.raises(TableError, match="no column"):
            page.add(X[["a"]])


def test_uploads_are_read_as_tables():
    pasted = read_upload(b"a\tb\n1\tx\n2\ty\n", "text/csv")  # from a spreadsheet
    assert pasted.feature_names == ["a", "b"]
    assert read_upload(b'{"a": [1, NaN]}', "application/json").features["a"].isna().tolist() == [False, True]
    with pytest.raises(UploadError, match="no rows"):
        read_upload(b"  \n", "text/csv")


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (gzip.compress(b"a,b\n" + b"1,2\n" * 10**6), "text/csv", "The rows are packed"),
        (b"a\n" + b"1\n" * 500_000, "text/csv", "more than 200,000 lines"),
        (b"a\n" + b"1\r" * 500_000, "text/csv", "more than 200,000 lines"),
        (b"[" + b"{}," * 300_000 + b"{}]", "application/json", "more than 200,000 objects"),
        (b"[" + b"{}," * 10_000 + b"{}]", "application/json", "10,001 rows with 0 columns"),
        (
            json.dumps([{f"x{i}": 1} for i in range(5000)]).encode(), "application/json",
            "5,000 rows with 5,000 columns",
        ),
        (json.dumps({"a": [1] * 10_001}).encode(), "application/json", "10,001 rows with 1 columns"),
        (b"[" * 100_000, "application/json", "not JSON"),
        (b'{"a": [' + b"[" * 90_000 + b"]" * 90_000 + b"]}", "application/json", "not JSON"),
    ],
    ids=["packed", "lines", "returns", "objects", "records", "columns", "lists", "deep", "deeper"],
)  # fmt: skip
def test_uploads_that_would_take_much_are_refused(content, kind, said):
    assert len(content) < MOST_BYTES
    with pytest.raises(UploadError, match=said):
        read_upload(content, kind)


def test_no_number_is_too_long(client, data):
    """Beyond the largest float it is infinite, and refused as other infinite values are."""
    assert read_upload(b'{"a": [12345678901234567890]}', "application/json").features["a"].tolist() == [
        1.2345678901234567e19
    ]
    row = ", ".join(f'"{name}": 1{"0" * 400}' for name in data[0].columns)
    answer = client.post("/transform", f"[{{{row}}}]".encode())
    assert answer.status == 422
    assert b"infin" in answer.body
