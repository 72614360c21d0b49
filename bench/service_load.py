"""The service under load: clients in processes of their own that mix questions over HTTP.

    python bench/service_load.py --persons 8_000_000 --folder DIR --clients 16 --seconds 600

Makes an invented census of that many persons with a store and a policy, unless DIR has one, serves
it by `python -m discreet serve`, and asks: 70 % tables of one municipality or state, 20 % of twenty
tables that were made before, 9 % national tables at once, 1 % national ones of many cells as jobs,
up to --job-cells. The policy has all rules: universes are sketched, and compared with all that
were released. Prints p50, p95 and p99 per kind, answers a second, what was no answer,
whether equal questions had equal answers, the processor time that an answer took in all processes
of the service, and their memory over time with its slope in the second half.

    python bench/service_load.py --folder NEW --seconds 120 --kill [--postgresql]

After a third of the time all processes of the service are killed and started again; after two
thirds PostgreSQL is. Clients ask again until they are answered. Prints how often, and whether
anything was lost: the trail, a row of the log per answer, equal answers.

    python bench/service_load.py --folder DIR --each 200 --beside OTHER/src

Asks in one process, one question after the other, and prints statements, transactions, processor
time and memory per answer, for each kind; beside it the same with the sources of another folder.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import http.client
import itertools
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple
from weakref import WeakSet

ROOT = Path(__file__).resolve().parents[1]
PATH = "/api/v1/datasets/census/data"
#: What spans the tables; codes with totals stand behind them.
VARIABLES = {"sex": 3, "age5": 19, "marital_status": 7, "education": 14, "nationality": 60}
KEPT = [
    f"by={one}{more}"
    for one in ("sex", "age5", "education", "marital_status")
    for more in ("", ",region:state", ",region:district", ",nationality", ",occupation")
]
#: Least persons of a municipality that is asked for.
LEAST_PLACE = 200
_SAMPLE_SECONDS = 2.0
_SIZES = ("RssAnon", "RssShmem", "VmRSS")
DATASET = """
[dataset]
id = "census"
version = "load"
title = { en = "Census (synthetic)", de = "Zensus (synthetisch)" }
description = { en = "Invented persons.", de = "Erfundene Personen." }
period = "2022-05-15"
geography = ["region", "state"]
public_codes = ["occupation"]

[units.person]
source = "persons"
store = "persons.store"
label = { en = "Persons", de = "Personen" }
"""


def prepare(folder: Path, persons: int, clients: int, database: str = "") -> None:
    """A service with a census, a store, a policy and a key for each client."""
    import polars as pl

    sys.path.insert(0, str(ROOT))
    from discreet.demo import write_census, write_programme
    from discreet_service.installation import new_key, new_service, opened
    from tests.helpers.service_data import OPEN_POLICY, write_policy

    made = new_service(folder, "adam")
    place, start = folder / "datasets" / "census-load", time.perf_counter()
    place.mkdir(mode=0o700)
    write_census(place, persons=persons, seed=2022)
    programme = write_programme(place)
    print(f"{persons:,} persons written in {time.perf_counter() - start:.0f} s", flush=True)
    start = time.perf_counter()
    command = [sys.executable, "-m", "discreet", "store", "build", str(programme)]
    command += ["--out", str(place / "persons.store"), "--source", "persons"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"store built in {time.perf_counter() - start:.0f} s", flush=True)
    (place / "DATASET.toml").write_text(DATASET, "utf-8")
    policy = OPEN_POLICY.replace('"2022-1"', '"load"').replace("least = 3 ", "least = 50 ")
    policy = policy.replace("least = 2, blur = 0", "least = 10, blur = 2")
    public = write_policy(place, folder, policy)
    limits = "requests_per_second = 1e6\nburst = 1_000_000\n"
    settings = made.settings.read_text("utf-8")
    trusted = f'trusted_signers = ["office.pub", "{public.name}"]'
    settings = settings.replace('trusted_signers = ["office.pub"]', trusted)
    settings = f"database = {json.dumps(database)}\n{settings}" if database else settings
    made.settings.write_text(f"{settings}\n[limits]\n{limits}\n[jobs]\nworkers = 1\n", "utf-8")
    with opened(made.settings) as service:
        if database:  # another one than that in which the first administrator is
            service.users.first_administrator("adam")
        service.datasets.publish("census", "load", "paul")
    keys = [new_key(made.settings, f"load-{at}", ["requester"], 30)[0] for at in range(clients)]
    counts = pl.scan_parquet(place / "persons.parquet").group_by("municipality").len().collect()
    large = counts.filter(pl.col("len") >= LEAST_PLACE)["municipality"].cast(pl.String)
    about = {"persons": persons, "keys": keys, "places": sorted(large)}
    (folder / "load.json").write_text(json.dumps(about), "utf-8")


class QuestionMix:
    """What one client asks, at random but always the same for its number."""

    def __init__(self, number: int, places: list[str], job_cells: int, only: str) -> None:
        self.draw, self.places, self.only = random.Random(number), places, only
        states = sorted({place[:2] for place in places})
        self.states, self.pairs = states, list(itertools.combinations(VARIABLES, 2))
        # The number of municipalities with a total, times the codes of two more variables.
        rows = len(places) + 1
        self.large = [by for by in self.pairs if self._cells(by) * rows <= job_cells]

    @staticmethod
    def _cells(by: tuple[str, ...]) -> int:
        found = 1
        for name in by:
            found *= VARIABLES[name]
        return found

    def next(self) -> tuple[str, str]:
        """The kind and the question."""
        while True:
            kind, question = self._drawn()
            if self.only in ("", kind):
                return kind, question

    def _drawn(self) -> tuple[str, str]:
        draw, kind = self.draw, self.draw.random()
        by = draw.choice(self.pairs)
        if kind < 0.55:
            return "municipality", f"by={','.join(by)}&where.region={draw.choice(self.places)}"
        if kind < 0.7:
            return "state", f"by={','.join(by)}&where.region={draw.choice(self.states)}"
        if kind < 0.9:
            return "repeated", draw.choice(KEPT)
        if kind < 0.99 or not self.large:
            rest = draw.choice(
                [name for name in ("sex", "marital_status") if name not in by] or [""]
            )
            code = {"sex": "m", "marital_status": "married", "": ""}[rest]
            return "national", f"by={','.join(by)}" + (f"&where.{rest}={code}" if rest else "")
        return "job", f"by=region:municipality,{','.join(draw.choice(self.large))}"


class LoadClient:
    """Asks one question after the other over one connection, and notes how long each took."""

    def __init__(self, port: int, key: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.head = {"Authorization": f"Bearer {key}"}

    def get(self, path: str) -> tuple[int, bytes, str]:
        """Status, content and place of a job."""
        self.connection.request("GET", path, headers=self.head)
        answer = self.connection.getresponse()
        return answer.status, answer.read(), answer.headers.get("Location") or ""

    def asked(self, question: str) -> tuple[int, bytes]:
        """The answer; of a job its result."""
        status, content, job = self.get(f"{PATH}?{question}&format=json-stat2")
        if status != http.client.ACCEPTED:
            return status, content
        while True:
            status, told, _ = self.get(job)
            state = json.loads(told).get("state")
            if status != http.client.OK or state not in ("queued", "running"):
                break
            time.sleep(0.2)
        if state != "done":
            return 599, told
        status, content, _ = self.get(f"{job}/result")
        return status, content


def client(port: int, number: int, about: dict[str, Any], given: argparse.Namespace) -> None:
    """Ask until the time is over; what came of it goes to the standard output."""
    mix = QuestionMix(given.seed * 1000 + number, about["places"], given.job_cells, given.only)
    asking = LoadClient(port, about["keys"][number])
    rows, digests, until = [], {}, time.time() + given.seconds
    again = Counter[str]()
    while time.time() < until:
        kind, question = mix.next()
        start = time.perf_counter()
        while True:
            try:
                status, content = asking.asked(question)
            except (OSError, http.client.HTTPException) as error:
                status, content = 598, type(error).__name__.encode()
                asking = LoadClient(port, about["keys"][number])
            if not given.kill or status in (http.client.OK, http.client.FORBIDDEN):
                break
            again[f"{status} {content[:80].decode(errors='replace')}"] += 1
            time.sleep(0.2)
        took = time.perf_counter() - start
        said = "" if status == http.client.OK else content[:300].decode(errors="replace")
        rows.append((kind, round(took, 5), status, said))
        if status == http.client.OK:
            digests.setdefault(question, set()).add(hashlib.sha256(content).hexdigest()[:16])
    told = {question: sorted(found) for question, found in digests.items()}
    json.dump({"rows": rows, "digests": told, "again": again}, sys.stdout)


class ProcessSample(NamedTuple):
    """What processes hold and have used: bytes of their own, bytes with what is mapped, seconds."""

    own: int = 0
    resident: int = 0
    used: float = 0.0

    def plus(self, other: ProcessSample) -> ProcessSample:
        """Of both."""
        return ProcessSample(*(one + more for one, more in zip(self, other, strict=True)))


def sample_of(process: int) -> ProcessSample:
    """One process, now; nothing once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        # Behind the name, which may hold anything.
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return ProcessSample()
    held = {name: value for name, _, value in (line.partition(":") for line in lines)}
    sizes = {name: int(held.get(name, "0").split()[0]) * 1024 for name in _SIZES}
    ticks = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return ProcessSample(sizes["RssAnon"] + sizes["RssShmem"], sizes["VmRSS"], ticks)


def processes_below(process: int) -> list[int]:
    """The processes that a process began, and those that they began."""
    try:
        found = [
            int(each)
            for path in Path(f"/proc/{process}/task").glob("*/children")
            for each in path.read_text().split()
        ]
    except OSError:
        return []
    return found + [one for each in found for one in processes_below(each)]


def watch(server: int, over: threading.Event, samples: list[tuple[float, Any, Any]]) -> None:
    """The server and all its workers, now and then."""
    start, ended = time.time(), False
    while True:
        workers = ProcessSample()
        for process in processes_below(server):
            workers = workers.plus(sample_of(process))
        samples.append((time.time() - start, sample_of(server), workers))
        if ended:
            return
        ended = over.wait(_SAMPLE_SECONDS)


def slope(samples: list[tuple[float, Any, Any]], place: int, name: str) -> float:
    """MB a minute in the second half, by least squares."""
    half = samples[len(samples) // 2 :]
    if len(half) < 2:
        return float("nan")
    times = [row[0] / 60 for row in half]
    sizes = [getattr(row[place], name) / 2**20 for row in half]
    middle, mean = sum(times) / len(times), sum(sizes) / len(sizes)
    spread = sum((at - middle) ** 2 for at in times)
    pairs = zip(times, sizes, strict=True)
    return round(sum((at - middle) * (size - mean) for at, size in pairs) / spread, 2)


def told_of_processes(samples: list[tuple[float, Any, Any]], answers: int) -> dict[str, Any]:
    """Processor time an answer, and memory over time."""
    first, last = samples[0], samples[-1]
    found: dict[str, Any] = {
        "processor ms an answer (server, workers)": [
            round((last[at].used - first[at].used) * 1000 / max(1, answers), 1) for at in (1, 2)
        ]
    }
    for name in ("own", "resident"):
        found[f"{name} MB (s, server, workers)"] = [
            (round(row[0]), *(getattr(row[at], name) // 2**20 for at in (1, 2)))
            for row in samples[:: max(1, len(samples) // 12)]
        ]
        found[f"{name} MB a minute in the second half (server, workers)"] = [
            slope(samples, at, name) for at in (1, 2)
        ]
    return found


def serve(folder: Path, processes: int, port: int = 0) -> tuple[subprocess.Popen[bytes], int]:
    """The service, once it answers, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = port or free.getsockname()[1]
    command = [sys.executable, "-m", "discreet", "serve", str(folder / "SERVICE.toml")]
    command += ["--port", str(port), "--processes", str(processes)]
    with (folder / "service.log").open("ab") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    for _ in range(600):
        time.sleep(0.1)
        try:
            if LoadClient(port, "").get("/health/live")[0] == http.client.OK:
                return server, port
        except OSError:
            pass
        if server.poll() is not None:
            break
    server.kill()
    raise SystemExit(f"the service did not start; see {folder / 'service.log'}")


def told(rows: list[list[Any]], seconds: float) -> dict[str, Any]:
    """What the clients found, as numbers."""
    times: dict[str, list[float]] = defaultdict(list)
    for kind, took, status, _ in rows:
        if status == http.client.OK:
            times[kind].append(took)
            times["all but jobs" if kind != "job" else "jobs"].append(took)
    found: dict[str, Any] = {"answers a second": round(len(rows) / seconds, 1)}
    for kind, each in sorted(times.items()):
        each.sort()
        at = {
            f"p{q}": round(each[min(len(each) - 1, len(each) * q // 100)] * 1000)
            for q in (50, 95, 99)
        }
        found[kind] = {"answers": len(each), **at, "most": round(each[-1] * 1000)}
    found["no answer"] = dict(Counter(f"{row[2]} {row[3][:160]}" for row in rows if row[2] != 200))
    return found


def disturb(
    folder: Path, processes: int, port: int, running: list[Any], third: float,
    restart: Callable[[], object] | None,
) -> None:  # fmt: skip
    """Kill the service with all its processes, and later its database; start them again."""
    time.sleep(third)
    for process in [*processes_below(running[-1].pid), running[-1].pid]:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    running[-1].wait()
    running.append(serve(folder, processes, port)[0])
    if restart is not None:
        time.sleep(third)
        restart()


def lost(folder: Path, answers: int) -> dict[str, Any]:
    """What is missing in the database of answers that clients have."""
    import sqlalchemy as sa

    from discreet_service.database.schema import QUERY_LOG
    from discreet_service.installation import opened

    with opened(folder / "SERVICE.toml") as service:
        with service.database.reading() as connection:
            rows = connection.execute(
                sa.select(sa.func.count()).select_from(QUERY_LOG)
            ).scalar_one()
        whole = service.trail.verify().whole
    return {
        "trail is whole": whole,
        "answers": answers,
        "answers without a row": max(0, answers - rows),
    }


def run(
    folder: Path, given: argparse.Namespace, restart: Callable[[], object] | None = None
) -> dict[str, Any]:
    """Serve, ask, and tell what was found."""
    about = json.loads((folder / "load.json").read_text("utf-8"))
    server, port = serve(folder, given.processes)
    running = [server]
    samples: list[tuple[float, Any, Any]] = []
    over = threading.Event()
    watcher = threading.Thread(target=watch, args=(server.pid, over, samples), daemon=True)
    try:
        first = LoadClient(port, about["keys"][0])
        start = time.perf_counter()
        for question in KEPT:
            status, content = first.asked(question)
            assert status == http.client.OK, (question, status, content[:300])
        print(f"{len(KEPT)} tables before: {time.perf_counter() - start:.1f} s", flush=True)
        watcher.start()
        command = [sys.executable, __file__, "--client", str(port), "--folder", str(folder)]
        command += ["--seconds", str(given.seconds), "--job-cells", str(given.job_cells)]
        command += ["--seed", str(given.seed), "--only", given.only, *(["--kill"] * given.kill)]
        if given.kill:
            third = given.seconds / 3
            arguments = (folder, given.processes, port, running, third, restart)
            threading.Thread(target=disturb, args=arguments, daemon=True).start()
        clients = [
            subprocess.Popen([*command, "--number", str(at)], stdout=subprocess.PIPE)
            for at in range(given.clients)
        ]
        # Read side by side: a pipe that is full would hold its client.
        parts: list[bytes] = [b""] * len(clients)
        readers = [
            threading.Thread(
                target=lambda at=at, one=one: parts.__setitem__(at, one.communicate()[0])
            )
            for at, one in enumerate(clients)
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    finally:
        over.set()
        if watcher.is_alive():
            watcher.join()
        running[-1].send_signal(signal.SIGINT)
        try:
            running[-1].wait(30)
        except subprocess.TimeoutExpired:
            running[-1].kill()
    read = [json.loads(part) for part in parts]
    answers: dict[str, set[str]] = defaultdict(set)
    for one in read:
        for question, digests in one["digests"].items():
            answers[question] |= set(digests)
    found = told([row for one in read for row in one["rows"]], given.seconds)
    found["questions"] = len(answers)
    found["unequal answers"] = sum(len(each) > 1 for each in answers.values())
    answers_given = sum(row[2] == http.client.OK for one in read for row in one["rows"])
    if given.kill:
        again = sum((Counter(one["again"]) for one in read), Counter[str]())
        return found | {"asked again": dict(again)} | lost(folder, answers_given)
    found |= told_of_processes(samples, answers_given)
    return found


class CountedConnection(sqlite3.Connection):
    """A connection that counts statements, and transactions that wrote, of all such."""

    statements = writes = 0
    begun = False
    every: ClassVar[WeakSet[CountedConnection]] = WeakSet()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.every.add(self)
        self.set_trace_callback(self._count if self.begun else None)

    @classmethod
    def counting(cls, begun: bool) -> None:
        """Count from now on, or no more: statements are written out to be counted, which takes."""
        cls.statements, cls.writes, cls.begun = 0, 0, begun
        for one in cls.every:
            one.set_trace_callback(cls._count if begun else None)

    @staticmethod
    def _count(statement: str) -> None:
        if not statement.startswith("--"):  # what a trigger does
            CountedConnection.statements += 1
            CountedConnection.writes += statement == "BEGIN IMMEDIATE"


class EachAnswer:
    """The application, asked in this process without a socket."""

    def __init__(self, folder: Path, key: str) -> None:
        from discreet import cli
        from discreet_service.application import create_app
        from discreet_service.installation import opened

        gc.set_threshold(cli._BETWEEN, *gc.get_threshold()[1:])  # as the command does
        sqlite3.dbapi2.connect = partial(sqlite3.connect, factory=CountedConnection)
        self._opened = opened(folder / "SERVICE.toml")
        service = self._opened.__enter__()
        service.start()
        self.app = create_app(service)
        self.head = [(b"host", b"localhost"), (b"authorization", f"Bearer {key}".encode())]

    async def get(self, path: str, **more: str) -> tuple[int, dict[bytes, bytes], bytes]:
        """Status, head and content."""
        place, _, query = path.partition("?")
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1",
                 "method": "GET", "scheme": "http", "path": place, "raw_path": place.encode(),
                 "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 1),
                 "server": ("127.0.0.1", 8000), "state": {},
                 "headers": self.head + [(name.replace("_", "-").encode(), value.encode())
                                         for name, value in more.items()]}  # fmt: skip
        told: list[Any] = []
        asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:
            return next(asked)

        async def send(message: Any) -> None:
            told.append(message)

        await self.app(scope, receive, send)
        content = b"".join(each.get("body", b"") for each in told[1:])
        return told[0]["status"], dict(told[0]["headers"]), content

    async def measured(self, kind: str, asked: list[tuple[str, dict[str, str]]]) -> dict[str, Any]:
        """What each of some questions took."""
        gc.collect()
        counted, timed = asked[: len(asked) // 10 + 1], asked[len(asked) // 10 + 1 :]
        CountedConnection.counting(True)
        statuses = Counter([(await self.get(path, **head))[0] for path, head in counted])
        statements, writes = CountedConnection.statements, CountedConnection.writes
        CountedConnection.counting(False)
        held, start = sample_of(os.getpid()).own, time.process_time()
        statuses += Counter([(await self.get(path, **head))[0] for path, head in timed])
        took = time.process_time() - start
        gc.collect()
        return {
            "kind": kind,
            "statements": round(statements / len(counted), 1),
            "writing transactions": round(writes / len(counted), 1),
            "processor ms": round(took * 1000 / len(timed), 2),
            "kB held": round((sample_of(os.getpid()).own - held) / 1024 / len(timed), 1),
            "statuses": dict(statuses),
        }


async def each_kind(folder: Path, number: int) -> list[dict[str, Any]]:
    """All kinds of answers, each so many times."""
    about = json.loads((folder / "load.json").read_text("utf-8"))
    app = EachAnswer(folder, about["keys"][0])
    kept = f"{PATH}?by=sex,age5&format=json-stat2"
    _, head, _ = await app.get(kept)
    tag = head[b"etag"].decode()
    # The first about a municipality sketches all of them.
    places = about["places"][: number + 20]
    new = [(f"{PATH}?by=sex,age5&where.region={place}", {}) for place in places]
    await app.measured("first", new[:20])
    asked = {
        "health": [("/health/live", {})],
        "repeated": [(kept, {})],
        "not modified": [(kept, {"if_none_match": tag})],
    }
    found = []
    for kind, one in asked.items():
        await app.measured(kind, one * 20)
        found.append(await app.measured(kind, one * number))
    found.append(await app.measured("new municipality", new[20:]))
    found.append(await app.measured("municipality again", new[20:]))
    return found


def side_by_side(given: argparse.Namespace) -> None:
    """Each kind of answer with these sources, and with those of another folder, in turns."""
    sources = {"here": ROOT / "src"} | ({"beside": given.beside} if given.beside else {})
    for name, source in sources.items():
        with TemporaryDirectory() as place:
            copy = Path(place) / "service"
            shutil.copytree(given.folder, copy)
            command = [sys.executable, __file__, "--folder", str(copy), "--each", str(given.each)]
            environment = {**os.environ, "PYTHONPATH": str(source.absolute())}
            command += ["--number", "1"]
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr.decode()[-2000:])
        for line in json.loads(done.stdout):
            print(name, *(f"{key}: {value}" for key, value in line.items()), sep="; ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--job-cells", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="questions of one kind, such as repeated")
    parser.add_argument("--processes", type=int, default=1, help="of the service")
    parser.add_argument("--each", type=int, default=0)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--kill", action="store_true", help="kill the service under load")
    parser.add_argument(
        "--postgresql", action="store_true", help="on a new PostgreSQL; killed, too"
    )
    given = parser.parse_args()
    if given.each and given.number:
        json.dump(asyncio.run(each_kind(given.folder, given.each)), sys.stdout)
        return
    if given.client is not None:
        about = json.loads((given.folder / "load.json").read_text("utf-8"))
        client(given.client, given.number, about, given)
        return
    sys.path.insert(0, str(ROOT))
    from tests.helpers.databases import restartable_postgresql

    database = restartable_postgresql() if given.postgresql else nullcontext(("", None))
    with database as (url, restart):
        if not (given.folder / "load.json").exists():
            prepare(given.folder, given.persons, given.clients, url)
        if given.each:
            side_by_side(given)
            return
        for name, value in run(given.folder, given, restart).items():
            print(f"{name}: {json.dumps(value)}", flush=True)


if __name__ == "__main__":
    main()
