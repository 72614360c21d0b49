"""What programs are kept from: each way out is tried, and the world outside compared."""

import json
import os
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet_fire.runners import closed_process, confinement
from discreet_fire.runners.closed_process import (
    NotClosedError,
    ProcessEnd,
    ProcessLimits,
    ProcessPlan,
    run_closed,
)
from discreet_fire.runners.registry import VARIABLE
from tests.helpers.places import ROOT

LIMITS = {"seconds": 60.0, "output_mb": 2, "files_mb": 20, "processes": 20, "memory_mb": 4000}
ESCAPES = ROOT / "tests" / "helpers"
PYTHON = [Path(sys.prefix), Path(sys.base_prefix)]
RUNS = [sys.executable, "-I", "-c", "print('it ran')"]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Data and files of others, with modes, times and attributes; a folder for a program."""
    for name in ("read", "other", "own"):
        (tmp_path / name).mkdir(mode=0o700)
    for name in ("d.csv", "secret.txt", "read/open.txt", "other/values.csv"):
        path = tmp_path / name
        path.write_text("x\n4711\n")
        path.chmod(0o600)
        os.setxattr(path, "user.mark", b"as it was")
        os.utime(path, (10**9, 10**9))
    return tmp_path


@pytest.fixture
def listeners(world: Path) -> Iterator[list[socket.socket]]:
    """What listens outside: by a path that may be read, by a name, in the network."""
    by_path, by_name = (socket.socket(socket.AF_UNIX) for _ in range(2))
    with by_path, by_name, socket.create_server(("127.0.0.1", 0)) as server:
        by_path.bind(str(world / "read" / "listens"))
        by_name.bind(f"\0{world}")
        found = [by_path, by_name, server]
        for one in found:
            one.listen()
            one.setblocking(False)
        yield found


def state_of(place: Path) -> dict[str, list[Any]]:
    """Mode, owner, size, times, attributes and content of all that is not the program's."""
    found = {}
    for path in (place, *sorted(place.rglob("*"))):
        if path.is_socket() or path == place / "own" or place / "own" in path.parents:
            continue
        opened = os.open(path, os.O_RDONLY | os.O_NOATIME)
        facts = os.fstat(opened)
        names = [one.name for one in os.scandir(opened)] if path.is_dir() else []
        content = sorted(names) if path.is_dir() else os.read(opened, 100)
        attributes = {name: os.getxattr(opened, name) for name in os.listxattr(opened)}
        times = (facts.st_atime_ns, facts.st_mtime_ns, facts.st_ctime_ns)
        owner = (facts.st_uid, facts.st_gid, facts.st_nlink)
        found[str(path)] = [facts.st_mode, owner, facts.st_size, times, attributes, content]
        os.close(opened)
    return found


def plan_of(world: Path, command: list[str], limits: Mapping[str, Any] = LIMITS) -> ProcessPlan:
    return ProcessPlan(
        command=command,
        folder=world / "own",
        read=[*PYTHON, world / "read"],
        data=[world / "d.csv"],
        environment={"PATH": "/usr/bin:/bin"},
        limits=ProcessLimits(**limits),
    )


def run(world: Path, command: list[str], limits: Mapping[str, Any] = LIMITS) -> ProcessEnd:
    return run_closed(plan_of(world, command, limits))


def assert_nobody_came(listeners: list[socket.socket]) -> None:
    for one in listeners:
        with pytest.raises(BlockingIOError):
            one.accept()


def test_no_way_out_of_python_leads_anywhere(world: Path, listeners: list[socket.socket]) -> None:
    shutil.copy(ESCAPES / "escapes.py", world / "own")
    facts = {
        "outside": str(world), "name": str(world), "port": listeners[2].getsockname()[1],
        "process": os.getpid(), "file": 2 << 20, "files": 20 << 20, "processes": 20,
    }  # fmt: skip
    (world / "own" / "facts.json").write_text(json.dumps(facts))
    before = state_of(world)
    end = run(world, [sys.executable, "-I", "escapes.py"])
    assert end.code == 0, end.errors
    told = json.loads(end.output)
    assert len(told) > 60
    assert [name for name, became in told.items() if became == "done"] == []
    assert state_of(world) == before
    assert_nobody_came(listeners)


@pytest.mark.r
def test_no_way_out_of_r_leads_anywhere(world: Path, listeners: list[socket.socket]) -> None:
    shutil.copy(ESCAPES / "escapes.R", world / "own")
    facts = [str(world), str(listeners[2].getsockname()[1]), str(os.getpid())]
    (world / "own" / "facts.txt").write_text("\n".join(facts) + "\n")
    before = state_of(world)
    end = run(world, ["/usr/bin/Rscript", "--vanilla", "escapes.R"])
    told = dict(line.split(": ") for line in end.output.decode().splitlines())
    # The signal of the last one may end R itself.
    assert len(told) >= 21, end.errors
    assert [name for name, became in told.items() if became == "done"] == []
    assert state_of(world) == before
    assert_nobody_came(listeners)


def test_memory_of_all_processes_together_is_limited(world: Path) -> None:
    code = (
        "import os, time\n"
        "for at in range(4):\n"
        "    if os.fork() == 0:\n"
        "        held = b'x' * (60 << 20)\n"
        "        time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    limits = {**LIMITS, "memory_mb": 150}
    end = run(world, [sys.executable, "-I", "-c", code], limits)
    assert (end.code, end.over) == (None, "memory")


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """A folder with the files that the kernel shows of a control group."""
    place = tmp_path / "groups"
    place.mkdir()
    for name in ("cgroup.controllers", "cgroup.subtree_control"):
        (place / name).write_text("cpu memory pids\n")
    (place / "cgroup.procs").write_text("")
    return place


def test_a_run_has_a_control_group_of_its_own(
    world: Path, groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        closed_process, "_UNTIL_EMPTY", 0.05
    )  # here files stay, and so does the folder
    limits = {**LIMITS, "control_groups": groups, "processors": 1.5}
    plan = plan_of(world, RUNS, limits)
    seen: dict[str, str] = {}

    def look(*_pipes: Any) -> None:
        (group,) = groups.glob("discreet-*")
        while not (group / "cgroup.procs").exists():
            time.sleep(0.01)
        seen.update({one.name: one.read_text() for one in group.iterdir()})
        (group / "memory.events").write_text("low 0\noom 3\noom_kill 1\n")

    end = run_closed(plan, look)
    assert (end.code, end.over) == (None, "memory")
    assert int(seen["cgroup.procs"]) > 1
    assert seen["memory.max"] == str((LIMITS["memory_mb"] + LIMITS["files_mb"]) << 20)
    assert seen["pids.max"] == str(LIMITS["processes"] + 3)
    assert seen["cpu.max"] == "150000 100000"
    assert (seen["memory.swap.max"], seen["memory.oom.group"]) == ("0", "1")
    (group,) = groups.glob("discreet-*")
    assert (group / "cgroup.kill").read_text() == "1"
    shutil.rmtree(group)
    end = run_closed(plan)
    assert (end.code, end.over, end.output) == (0, "", b"it ran\n")


def test_a_stated_control_group_that_cannot_be_used_is_missed(world: Path, groups: Path) -> None:
    (groups / "cgroup.controllers").write_text("hugetlb\n")
    for limits in ({"control_groups": groups}, {"processors": 1.0}):
        if "control_groups" in limits or closed_process.control_folder() is None:
            with pytest.raises(NotClosedError, match="a control group with memory"):
                run(world, RUNS, {**LIMITS, **limits})
    (groups / "cgroup.controllers").write_text("cpu memory pids\n")
    (groups / "cgroup.subtree_control").write_text("memory\n")
    assert closed_process.control_folder(groups) == groups
    assert (groups / "cgroup.subtree_control").read_text() == "+cpu +pids"


def test_the_command_says_what_limits_programs(
    groups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, folder = tmp_path / "runners.toml", f'control_groups = "{groups}"\n'
    monkeypatch.setenv(VARIABLE, str(settings))
    for more in (folder, ""):
        settings.write_text(f'[python]\nexecutable = "{sys.executable}"\n{more}')
        text = " ".join(CliRunner().invoke(app, ["fire", "runners"]).stdout.split())
        assert f"python: .py, {sys.executable}" in text
        own = closed_process.control_folder(groups if more else None)
        assert (f"Control groups in {own}" if own else "No control group (cgroup v2)") in text
        assert own == groups or not more


def test_a_control_group_of_the_kernel_ends_what_is_in_it(tmp_path: Path) -> None:
    """Where this machine lets us make one; elsewhere the folder above stands for it."""
    lines = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    tops = [Path(line[1]) for line in lines if line[2] == "cgroup2"]
    for top in [one for one in tops if os.access(one / "cgroup.procs", os.W_OK)]:
        with subprocess.Popen(["/bin/sleep", "600"]) as sleeps:
            words = {"memory": 1 << 30, "processes": 20, "processors": None}
            with closed_process.control_group(top, **words) as group:
                assert group is not None
                (group / "cgroup.procs").write_text(str(sleeps.pid))
                assert group.name in Path(f"/proc/{sleeps.pid}/cgroup").read_text()
                assert not closed_process._memory_was_over(group)
            assert not group.exists()
            assert sleeps.wait(10) == -signal.SIGKILL


# --- where a part is missing ----------------------------------------------------------------------

_START = (
    "import importlib.util, os, platform, sys\n"
    "spec = importlib.util.spec_from_file_location('confinement', sys.argv[1])\n"
    "made = importlib.util.module_from_spec(spec)\n"
    "spec.loader.exec_module(made)\n"
    "kernel = made._Kernel()\n"
)
_WITHOUT_NAMESPACES = (
    "kernel.control(38, 1, 0, 0, 0)\nkernel.filter(made.system_call_filter(platform.machine()))\n"
)
#: Root by name: outside it is the one user that a limit of processes does not bind.
_ALONE = (
    "ids = os.geteuid(), os.getegid()\n"
    "kernel._library.unshare(0x10000000)\n"
    "open('/proc/self/setgroups', 'w').write('deny')\n"
    "open('/proc/self/uid_map', 'w').write(f'0 {ids[0]} 1')\n"
    "open('/proc/self/gid_map', 'w').write(f'0 {ids[1]} 1')\n"
)


def started(world: Path, before: str) -> tuple[int, dict[str, Any]]:
    """How the start of a program ends after something, and what it says."""
    plan = plan_of(world, RUNS)
    status, tell = os.pipe()
    code = f"{_START}{before}made.main(sys.argv[2])\n"
    command = [sys.executable, "-I", "-c", code, confinement.__file__, plan.words(tell, {}, None)]
    done = subprocess.run(command, pass_fds=(tell,), capture_output=True, check=False)
    os.close(tell)
    with os.fdopen(status) as told:
        return done.returncode, json.loads(told.readline())


def test_a_program_is_refused_where_a_part_is_missing(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started(world, "") == (0, {"closed": True})
    code, told = started(world, _WITHOUT_NAMESPACES)
    assert code == confinement.NOT_CLOSED
    assert told == {"missing": "namespaces of its own (Operation not permitted)"}
    code, told = started(world, _ALONE)
    bound = os.geteuid() != 0
    missing = "a limit of processes (root is not bound by it)"
    assert told == ({"closed": True} if bound else {"missing": missing})
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(confinement.MissingPartError, match="x86_64 or aarch64"):
        confinement._confine({})


def test_the_refusal_names_what_is_missing(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, missing in (
        ("import json, sys, os\nos.write(json.loads(sys.argv[1])['status'],"
         "b'{\"missing\": \"/proc of its own (no)\"}')", "missing is /proc of its own"),
        ("print('it ran')", "missing is what starts it"),
    ):  # fmt: skip
        (world / "start.py").write_text(text)
        monkeypatch.setattr(closed_process.confinement, "__file__", str(world / "start.py"))
        with pytest.raises(NotClosedError, match=missing):
            run(world, RUNS)


# --- the filter of both architectures -----------------------------------------------------


def answer(program: bytes, number: int, machine: int, flags: int = 0) -> int:
    """What the kernel's rules make of a filter for one call."""
    data = struct.pack("=iIQQ", number, machine, 0, flags)
    held = at = 0
    while True:
        code, when_true, when_false, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            held = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            held &= value
        elif code == 0x06:
            return int(value)
        else:
            at += when_true if (held == value if code == 0x15 else held >= value) else when_false


@pytest.mark.parametrize(
    ("machine", "number", "refused", "allowed", "clone"),
    [
        ("x86_64", 0xC000003E, [41, 90, 101, 165, 188, 250, 272, 280, 321, 425], [0, 59, 202], 56),
        ("aarch64", 0xC00000B7, [198, 52, 117, 40, 5, 219, 97, 88, 280, 425], [63, 221, 98], 220),
    ],
)
def test_the_filter_of_each_architecture(
    machine: str, number: int, refused: list[int], allowed: list[int], clone: int
) -> None:
    program = confinement.system_call_filter(machine)
    denied, unknown, fine, killed = 0x50001, 0x50026, 0x7FFF0000, 0x80000000
    assert {answer(program, one, number) for one in refused} == {denied}
    assert {answer(program, one, number) for one in allowed} == {fine}
    assert answer(program, clone, number, 0x1200011) == fine
    for namespace in confinement._NAMESPACES.values():
        assert answer(program, clone, number, namespace | 17) == denied
    assert {answer(program, one, number) for one in (435, 457, 500, 0x40000029)} == {unknown}
    assert answer(program, allowed[0], 0x40000003) == killed
