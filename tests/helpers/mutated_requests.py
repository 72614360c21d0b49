"""Requests that are nearly right: of every route, with parts exchanged, cut off, or hostile."""

import json
import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_from_bytes, urlencode

from tests.helpers.running_service import ORIGIN, RunningDemo, all_routes

#: A count and a key that are handed in; whatever goes wrong, neither is quoted.
COUNT, KEY = 7_654_321, 123_456_789_012_345
HOSTILE = (
    "",
    " ",
    "../../../etc/passwd",
    "..%2f..%2fservice.secret",
    "....//....//service.secret",
    "/etc/passwd",
    "file:///etc/passwd",
    "..\\..\\service.secret",
    "census\x00.csv",
    "' OR '1'='1",
    "'; DROP TABLE jobs; --",
    '" OR ""="',
    "1 union select token from api_keys",
    "%' AND 1=1 --",
    "$(id)",
    "`id`",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "%s%n%x",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a\r\nSet-Cookie: x=1",
    "\x1b[31mred",
    "\u202egnp",
    "\ud800",
    "\ufeff",
    "é" * 50,
    "𐍈",
    "A" * 3_000,
    "-1",
    "0",
    "1e400",
    "NaN",
    "9" * 30,
    "0x10",
    "true",
    "null",
    "[]",
    "*",
    "?",
    "top(9999999999999999999999)",
    "range(,)",
    "[*",
    "(" * 200,
    "Total",
    "=1+1",
)
_ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    2**64,
    10**400,
    -(2**70),
    1.5,
    -0.0,
    1e308,
    [],
    {},
    [[]],
    {"": {}},
    [None],
    {"a": 1, "b": [1, 2, {"c": None}]},
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO", "")
_ACCEPTS = (
    "*/*",
    "text/html",
    "application/json",
    "text/csv",
    "application/vnd.apache.parquet",
    "application/vnd.sdmx.data+csv;version=2.0.0",
    "application/vnd.sdmx.structure+json",
    "text/html;q=broken",
    ",,;;",
    "x" * 500,
)
_TYPES = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "text/csv",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file",
    "application/octet-stream",
    "application/toml",
    "application/json; charset=utf-16",
    "text/plain",
    "nonsense",
    "",
)
_HEADERS = (
    "Range",
    "If-None-Match",
    "If-Match",
    "If-Modified-Since",
    "Idempotency-Key",
    "Last-Event-ID",
    "Accept-Language",
    "Accept-Encoding",
    "X-Forwarded-For",
    "X-Request-Id",
    "X-HTTP-Method-Override",
    "Authorization",
    "Cookie",
    "Content-Encoding",
    "Content-Length",
    "Origin",
    "Sec-Fetch-Site",
    "Host",
    "Expect",
    "Transfer-Encoding",
)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A route that is attacked.

    Args:
        method: Its method.
        path: Its path, with names in braces.
        query: Names of what its address says.
        body: A body that is right, or nearly.
        page: Whether it is one of the pages.
    """

    method: str
    path: str
    query: tuple[str, ...] = ()
    body: Any = None
    page: bool = False


def endpoints(app: Any) -> list[Endpoint]:
    """All routes: those of the document, and those of pages."""
    document = app.openapi()
    found = []
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            query = tuple(
                each["name"] for each in about.get("parameters", ()) if each["in"] == "query"
            )
            found.append(
                Endpoint(
                    method=method.upper(),
                    path=path,
                    query=query,
                    body=_body_of(path, about.get("requestBody"), document),
                )
            )
    told = {(one.method, one.path) for one in found}
    for route in all_routes():
        for method in route.methods:
            if (method, route.path) in told or re.sub(r":\w+}", "}", route.path) in document[
                "paths"
            ]:
                continue
            names = [each.alias for each in route.dependant.query_params]
            form = [each.alias for each in route.dependant.body_params]
            found.append(
                Endpoint(
                    method=method,
                    path=route.path,
                    query=tuple(names),
                    body=dict.fromkeys([*form, "csrf"], "x") if form else None,
                    page=True,
                )
            )
    return found


_CELLS = [
    {"sex": "Total", "n": COUNT, "key": KEY, "official": True},
    {"sex": "m", "n": 3, "key": KEY + 1, "official": False},
]
_KNOWN_BODIES: Mapping[str, Any] = {
    "/api/v1/protect/counts": {
        "parameter_set": "census",
        "cells": [{"n": COUNT, "key": KEY, "official": False}],
    },
    "/api/v1/protect/values": {
        "parameter_set": "census",
        "value": "rent",
        "cells": [
            {"total": 9.5, "largest_1": 7.0, "largest_2": 2.5, "count": 2, "key": KEY},
        ],
    },
    "/api/v1/protect/figures": {
        "parameter_set": "census",
        "layout": {
            "by": ["sex"],
            "count": "n",
            "cell_key": "key",
            "figures": {"persons": {"kind": "count"}},
        },
        "cells": _CELLS,
    },
    "/api/v1/protect/parts": {"parameter_set": "census", "by": ["sex"], "cells": _CELLS},
    "/api/v1/jobs": {
        "kind": "query",
        "request": {"dataset": "census", "unit": "person", "by": ["sex"]},
    },
    "/api/v1/programmes": b'title = "x"\n[variables.sex]\ncodes = ["m", "w"]\n',
    "/api/v1/parameter-sets": b"PK\x03\x04 no package",
    "/pxapi/v2/tables/{table}/data": {
        "selection": [{"variableCode": "sex", "valueCodes": ["*"]}],
        "placement": {"heading": ["sex"], "stub": ["region"]},
    },
    "/pxapi/v2/savedqueries": {"tableId": "census-2022.population", "selection": {}},
}


def _body_of(path: str, wanted: Any, document: Mapping[str, Any]) -> Any:
    if path in _KNOWN_BODIES:
        return _KNOWN_BODIES[path]
    if not wanted:
        return None
    told = wanted.get("content", {}).get("application/json")
    if told is None:
        return b"body"
    if told.get("examples"):
        return next(iter(told["examples"].values()))["value"]
    return _made_up(told.get("schema", {}), document)


def _made_up(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _made_up(document["components"]["schemas"][name], document)
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("properties"):
        return {name: _made_up(each, document) for name, each in schema["properties"].items()}
    if schema.get("anyOf"):
        return _made_up(schema["anyOf"][0], document)
    if schema.get("type") == "array":
        return [_made_up(schema.get("items", {}), document)]
    return {"integer": 1, "boolean": True, "object": {}, "null": None}.get(
        schema.get("type", ""), "census"
    )


class MutatedRequests:
    """Draws requests, the same for the same seed.

    Args:
        demo: What is attacked.
        seed: The seed.
    """

    def __init__(self, demo: RunningDemo, seed: int) -> None:
        self._drawn = random.Random(seed)
        self.endpoints = endpoints(demo.app)
        self.asked: set[tuple[str, str]] = set()
        self._demo, self._number = demo, 0
        self._logins: list[tuple[str, str]] = []
        self._right = _right_values(demo)
        self._keys = ["everybody"] * 20 + ["", "service", "requester", "reader", "admin", "dsc_no"]
        # What is looked at most closely is asked most.
        self._weights = [6 if one.path in _CLOSELY else 1 for one in self.endpoints]
        self._first = self._drawn.sample(self.endpoints, len(self.endpoints))  # each once

    def next(self) -> dict[str, Any]:
        """What is asked next, as `RunningDemo.ask` takes it."""
        drawn = self._drawn
        if self._number % 300 == 0:  # somebody logs out now and then
            names = ("rita", "paul", "cora", "adam", "otto")
            self._logins = [self._demo.log_in(name) for name in names]
        self._number += 1
        drawn_one = drawn.choices(self.endpoints, self._weights)[0]
        one = self._first.pop() if self._first else drawn_one
        self.asked.add((one.method, one.path))
        method = one.method if drawn.random() < 0.93 else drawn.choice(_METHODS)
        path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: self._value(found[1]), one.path)
        if drawn.random() < 0.03:
            path += drawn.choice(("/", "//", "/..", "%00", "/%2e%2e/", ";a=b", "\ud800", ":x"))
        headers = self._headers(one)
        sent, kind = self._body(one)
        if kind and drawn.random() < 0.92:
            headers.append(("content-type", kind))
        key = "" if any(name == "cookie" for name, _ in headers) else drawn.choice(self._keys)
        return {
            "method": method,
            "path": path,
            "query": self._query(one),
            "headers": headers,
            "body": sent,
            "key": key,
            "address": f"192.0.2.{drawn.randrange(1, 250)}",
        }

    def _value(self, name: str) -> str:
        drawn = self._drawn
        right = self._right.get(name, ("census",))
        text = drawn.choice(right) if drawn.random() < 0.8 else drawn.choice(HOSTILE)
        if drawn.random() < 0.08:
            text = self._text(text)
        return quote_from_bytes(text.encode("utf-8", "surrogatepass"), "" if text != "*" else "*")

    def _text(self, text: str) -> str:
        """A text with something in it exchanged."""
        drawn, at = self._drawn, self._drawn.randrange(len(text) + 1)
        piece = drawn.choice((*HOSTILE, *string.printable))
        return text[:at] + piece + text[at + drawn.randrange(3) :]

    def _query(self, one: Endpoint) -> str:
        drawn, given = self._drawn, list[tuple[str, str]]()
        names = (*one.query, *_QUERIES.get(one.path, ()))
        for name in names:
            if drawn.random() < (0.9 if name == "unit" else 0.3):
                given.append((name, self._query_value(name)))
        if drawn.random() < 0.08:
            given.append((drawn.choice((*HOSTILE, "csrf", "by")), drawn.choice(HOSTILE)))
        if given and drawn.random() < 0.05:
            given.append(given[0])
        if drawn.random() < 0.02:
            return drawn.choice(
                ("%", "%zz=%", "&&&=", "a=%ff%fe", "=" * 500, "a[]=1&a[]=2", "\ud800")
            )
        try:
            return urlencode(given)
        except UnicodeEncodeError:
            return "&".join(
                f"{quote(k, errors='surrogatepass')}={quote(v, errors='surrogatepass')}"
                for k, v in given
            )

    def _query_value(self, name: str) -> str:
        drawn = self._drawn
        right = self._right.get(name, ("1", "en"))
        return drawn.choice(right) if drawn.random() < 0.8 else drawn.choice(HOSTILE)

    def _headers(self, one: Endpoint) -> list[tuple[str, str]]:
        drawn = self._drawn
        accept = "text/html" if one.page and drawn.random() < 0.8 else drawn.choice(_ACCEPTS)
        given = [("accept", accept)] if drawn.random() < 0.7 else []
        if one.page or drawn.random() < 0.05:
            cookie, token = drawn.choice(self._logins)
            self._token = token
            if drawn.random() < 0.85:
                given += [("cookie", cookie), ("origin", ORIGIN), ("sec-fetch-site", "same-origin")]
        if drawn.random() < 0.2:
            name = drawn.choice(_HEADERS)
            value = drawn.choice((*HOSTILE, "bytes=0-1", "bytes=9-", '"*"', "*", "de", "chunked"))
            given.append((name, value))
        return given

    def _body(self, one: Endpoint) -> tuple[bytes, str]:
        drawn, right = self._drawn, one.body
        if right is None:
            return (b"", "") if drawn.random() < 0.9 else (b"{}", drawn.choice(_TYPES))
        if isinstance(right, bytes):
            text, kind = right, drawn.choice(_TYPES)
        elif one.page:
            fields = {**right, "csrf": getattr(self, "_token", "x")}
            for name in fields:
                if name != "csrf" or drawn.random() < 0.1:
                    fields[name] = self._query_value(name)
            text = urlencode(
                {name: value.encode("utf-8", "surrogatepass") for name, value in fields.items()}
            ).encode()
            kind = _TYPES[1]
        else:
            made = json.loads(json.dumps(right))
            for _ in range(drawn.choice((0, 0, 1, 1, 1, 2, 3))):
                made = self._mutated(made)
            text, kind = json.dumps(made).encode(), "application/json"
        if drawn.random() < 0.12:
            text = self._bytes(text)
        if drawn.random() < 0.06:
            kind = drawn.choice(_TYPES)
        return text, kind

    def _mutated(self, value: Any) -> Any:
        """A document with one place in it changed."""
        drawn = self._drawn
        if isinstance(value, dict) and value and drawn.random() < 0.85:
            name = drawn.choice(list(value))
            act = drawn.random()
            if act < 0.1:
                return {each: value[each] for each in value if each != name}
            if act < 0.2:
                return {**value, drawn.choice(HOSTILE): value[name]}
            return {**value, name: self._mutated(value[name])}
        if isinstance(value, list) and value and drawn.random() < 0.8:
            at, act = drawn.randrange(len(value)), drawn.random()
            if act < 0.15:
                return value[:at] + value[at + 1 :]
            if act < 0.3:
                return value + [value[at]] * drawn.choice((1, 2, 300))
            return [*value[:at], self._mutated(value[at]), *value[at + 1 :]]
        if drawn.random() < 0.1:
            return [value] if drawn.random() < 0.5 else {"a": value}
        if isinstance(value, str) and drawn.random() < 0.3:
            return drawn.choice(sum(self._right.values(), ()))
        return drawn.choice((*HOSTILE, *_ODD))

    def _bytes(self, content: bytes) -> bytes:
        drawn, at = self._drawn, self._drawn.randrange(len(content) + 1)
        return drawn.choice(
            (
                content[:at],
                content[:at] + bytes([drawn.randrange(256)]) + content[at + 1 :],
                content * 2,
                b"\xef\xbb\xbf" + content,
                content.decode("latin-1").encode("utf-16"),
                b"[" * 20_000,
                b'{"a":' * 5_000,
                b"",
                b"\x00" * 100,
                b"ARROW1\x00\x00" + content,
                b"PAR1" + content + b"PAR1",
                b"\xff\xff\xff\xff\x10\x00\x00\x00" + content,
                drawn.randbytes(200),
            )
        )


_QUERIES: Mapping[str, Sequence[str]] = {
    "/api/v1/datasets/{dataset}/data": (
        *("unit", "by", "where.sex", "codes.age5", "within.region", "measures", "totals"),
        *("version", "format", "language"),
    ),
    "/pxapi/v2/tables/{table}/data": (
        *("lang", "valuecodes[sex]", "valuecodes[region]", "codelist[region]", "outputFormat"),
        *("outputFormatParams", "heading", "stub"),
    ),
    "/pxapi/v2/tables/{table}/metadata": ("lang", "savedQueryId", "codelist[region]"),
    "/sdmx/v2/data/{rest}": (
        *("c[SEX]", "attributes", "measures", "firstNObservations", "lastNObservations"),
        *("updatedAfter", "dimensionAtObservation", "format"),
    ),
    "/sdmx/v2/structure/{rest}": ("detail", "references", "format"),
    **{
        f"/api/v1/protect/{kind}": ("format", "by", "layout", "language", "name", "version")
        for kind in ("counts", "values", "figures", "parts")
    },
}


_CLOSELY = frozenset(
    (
        *(path for path in _KNOWN_BODIES if "protect" in path or "pxapi" in path),
        *(f"/api/v1/datasets/{{dataset}}/{each}" for each in ("data", "query", "query:check")),
        *("/sdmx/v2/data/{rest}", "/sdmx/v2/structure/{rest}", "/pxapi/v2/tables/{table}/metadata"),
        *("/api/v1/releases/{release}/tables/{table}",),
    )
)


def _right_values(demo: RunningDemo) -> dict[str, tuple[str, ...]]:
    """What can stand where, in the demonstration."""
    asked = demo.ask("POST", "/api/v1/jobs", key="everybody", data=_KNOWN_BODIES["/api/v1/jobs"])
    job = asked.json().get("id", "0" * 32) if asked.status == 202 else "0" * 32
    return {
        "dataset": ("census",),
        "version": ("2022-1", "1"),
        "variable": ("sex", "region", "age5"),
        "unit": ("person", "household", "dwelling"),
        "name": ("census", "rita"),
        "job": (job, "0" * 32),
        "release": ("census-2022",),
        "table": ("population", "census-2022.population", "census-2022.age_groups", "age_groups"),
        "file": ("population.csv", "release.json", "about.json"),
        "codelist": ("census-2022.population.region", "region"),
        "query": ("population", "0" * 32),
        "rest": (
            "dataflow/*/*/*",
            "dataflow",
            "dataflow/census/population/1.0",
            "dataflow/census-2022/population/+/*",
            "*/*/*",
        ),
        "key": ("0" * 12,),
        "user": ("rita", "vera"),
        "proposal": ("0" * 32,),
        "digest": ("0" * 64,),
        "draft": ("0" * 32,),
        "programme": ("0" * 32, "census"),
        "by": ("sex", "region:state,sex", "age5", "nationality:1,sex", "region"),
        "where.sex": ("m", "w"),
        "codes.age5": ("Y0", "Total"),
        "within.region": ("01",),
        "measures": ("count", "mean:rent", "vacancy", "sum:area", "share:count:sex"),
        "totals": ("all", "none", "sex"),
        "format": ("json-stat2", "csv", "xlsx", "parquet", "px", "sdmx-csv", "html", "json"),
        "outputFormat": ("px", "json-stat2", "csv", "xlsx", "html", "json-px", "parquet"),
        "valuecodes[sex]": ("*", "m", "top(1)", "from(m)", "?"),
        "valuecodes[region]": ("*", "top(3)", "0?", "[range(01,02)]"),
        "parameter_set": ("census", "census@1"),
        "act": ("approve", "reject", "withdraw"),
        "role": ("requester", "reader", "admin"),
        "state": ("queued", "done", "open"),
        "kind": ("query", "login", "job released"),
        "language": ("en", "de"),
        "lang": ("en", "de"),
        "name_": ("static",),
    }
