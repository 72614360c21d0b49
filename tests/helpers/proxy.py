"""The proxy of the example in `deploy/`, before a service that runs on a port."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.helpers.places import ROOT

#: What the tests change of it: no certificate, and less patience.
_CHANGES = {
    r"server_name .*;|ssl_certificate\w* .*;": "",
    r"(client_header_timeout|client_body_timeout) 10s": r"\1 2s",
    r"(send_timeout|keepalive_timeout) 30s": r"\1 2s",
    r"limit_conn discreet 100": "limit_conn discreet 400",  # all callers are this machine
}


@contextmanager
def behind_proxy(url: str, folder: Path) -> Iterator[str]:
    """The address of nginx, which hands requests on to the service at `url`."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert program is not None, "the tests of the proxy need nginx"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    for old, new in _CHANGES.items():
        text, number = re.subn(old, new, text)
        assert number, old
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    text = text.replace("127.0.0.1:8077", urlsplit(url).netloc)
    places = [f"{kind}_temp_path {folder}/{kind};" for kind in
              ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]  # fmt: skip
    as_root = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{as_root}\ndaemon off;\nworker_processes 1;\npid {folder}/pid;\n"
        f"error_log {folder}/errors;\nevents {{ worker_connections 1024; }}\n"
        f"http {{\naccess_log off;\n{' '.join(places)}\n{text}\n}}\n",
        encoding="utf-8",
    )
    line = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with subprocess.Popen(line) as process:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.02)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
