"""The R functions that ask a service: the figures of direct calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.package_parameters import PTABLE
from tests.helpers.places import ROOT
from tests.helpers.service_cells import CellService, some_cells
from tests.helpers.service_server import served_on_port

pytestmark = pytest.mark.r

SCRIPT = """
library(discreet)
cells <- read.csv("cells.csv")
found <- dc_service_counts(cells, "census")
write.csv(found, "found.csv", row.names = FALSE)
refused <- tryCatch(
  dc_service_counts(transform(cells, fixed = TRUE), "census", official = "fixed"),
  discreet_error = identity
)
stopifnot(grepl("no exempt cells", conditionMessage(refused)))
table <- dc_service_table(
  data.frame(sex = c("Total", "m", "w"), n = c(7, 3, 4), key = c(25e13, 125e12, 125e12 + 1)),
  list(by = "sex", count = "n", cell_key = "key"), "census"
)
stopifnot(identical(table$sex, c("Total", "m", "w")), is.numeric(table$value))
odd <- discreet:::as_json(list(a = 1, b = list("x"), c = c(TRUE, FALSE), d = "\\"\\\\\\n"))
stopifnot(odd == '{"a":1,"b":["x"],"c":[true,false],"d":"\\\\"\\\\\\\\\\\\n"}')
wrong <- tryCatch(dc_service_counts(transform(cells, n = -1), "census"), discreet_error = identity)
stopifnot(inherits(wrong, "discreet_error"), grepl("below 0", conditionMessage(wrong)))
Sys.setenv(DISCREET_SERVICE_KEY = Sys.getenv("KEY_OF_A_PRODUCER"))
rounded <- dc_service_round(
  data.frame(sex = c("Total", "m", "w"), n = c(12, 8, 4)),
  list(by = "sex", rounding = list(method = "controlled", base = 5))
)
stopifnot(identical(rounded$value, c(15, 10, 5)))
again <- dc_service_run("rounding", data.frame(sex = c("Total", "m", "w"), n = c(12, 8, 4)),
                        list(by = "sex", rounding = list(method = "controlled", base = 5)))
stopifnot(identical(again, rounded))
changed <- dc_service_anonymise(
  data.frame(pid = 1:4, sex = c("m", "w", "w", "w"), age = c(30, 70, 93, 81)),
  list(id = "pid", drop = "pid",
       steps = list(list(method = "top_code", variable = "age", above = 65)))
)
stopifnot(identical(changed$age, c(30L, 65L, 65L, 65L)), identical(names(changed), c("sex", "age")))
"""


def test_counts_and_tables_are_those_of_direct_calls(library: Path, tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    program = tmp_path / "discreet"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet "$@"\n')
    program.chmod(0o755)
    cells = some_cells()
    cells.write_csv(tmp_path / "cells.csv")
    (tmp_path / "script.R").write_text(SCRIPT)
    served = CellService.of(folder)
    served.in_use()
    settings = {**os.environ, "R_LIBS": str(library), "DISCREET_COMMAND": str(program)}
    settings |= {"PYTHONPATH": str(ROOT / "src"), "LC_ALL": "C.UTF-8"}
    settings["DISCREET_SERVICE_KEY"] = served.key()
    settings["KEY_OF_A_PRODUCER"] = served.key("producer", "pia")
    app = served.app()
    with served_on_port(app) as url:
        settings["DISCREET_SERVICE_URL"] = url
        done = subprocess.run(
            ["Rscript", "--vanilla", "script.R"],
            cwd=tmp_path, env=settings, capture_output=True, text=True, check=False,
        )  # fmt: skip
    served.service.close()
    assert done.returncode == 0, done.stderr
    count, key = cells["n"].to_numpy(), cells["key"].to_numpy()
    found = pl.read_csv(tmp_path / "found.csv")
    assert found["value"].to_list() == (count + PTABLE.lookup(count, key)).tolist()
