"""A small data set for tests of the service: the synthetic census with stores."""

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from discreet.demo import write_census, write_programme
from discreet.microdata import Secret
from discreet.release.cubes import build_store
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings

#: What the programme of the census asks of its parts, for data sets that thin tables out.
STRICT_PARTS = """
[parts]
max_share_small = 0.4
min_average_size = 10
"""


#: A policy that lets almost everything through: for tests that are not about policies.
OPEN_POLICY = """
dataset = "census"
version = "2022-1"
revision = 1
rules = ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"]
size = { cells_instant = 10_000, cells_job = 5_000_000, categories = 62_000 }
variables = { most = 20, depth = { state = 20, district = 20, municipality = 20, "1" = 20 } }
small_universes = { least = 3 }

differences = { least = 2, blur = 0, most_universes = 1_000_000 }
custom_groups = { per_variable = 0, groups = [] }
sparsity = { small = 0, share_small = 1, share_single = 1, least_cells = 1_000_000 }

[exposure]
everywhere = 1_000_000
levels = { state = 1e6, district = 1e6, municipality = 1e6, "1" = 1e6 }

[rates]
per_second = 10_000
burst = 10_000
cells_per_day = 1_000_000_000
dataset_alarm = 1_000_000_000

[patterns]
window_hours = 1
contact = "the office"
partitions = { alert = 1_000_000, stop = 1_000_000, together = 1_000_000 }
crossings = { alert = 1_000_000, stop = 1_000_000, together = 1_000_000 }
near = { alert = 1_000_000, stop = 1_000_000, together = 1_000_000 }
spellings = { alert = 1_000_000, stop = 1_000_000, together = 1_000_000 }
"""


def write_policy(folder: Path, keys: Path, text: str = OPEN_POLICY) -> Path:
    """Write and sign the policy of a data set, and give the public key that trusts it."""
    from discreet.release.packages import write_key_pair
    from discreet_service.policies import sign_policy

    private = keys / "custodian.key"
    if not private.exists():
        write_key_pair(private)
    (folder / "POLICY.toml").write_text(text, "utf-8")
    sign_policy(folder / "POLICY.toml", private)
    return keys / "custodian.pub"


def write_census_dataset(folder: Path, persons: int = 3_000, seed: int = 2026) -> Path:
    """Write records, programme, stores and DATASET.toml, and give their folder."""
    place = folder / "census-2022-1"
    place.mkdir(parents=True)
    write_census(place, persons=persons, seed=seed)
    programme = write_programme(place)
    for source in ("persons", "households", "dwellings", "buildings"):
        build_store(programme, place / f"{source}.store", source=source)
    text = files("discreet_service").joinpath("demo_dataset.toml").read_text("utf-8")
    (place / "DATASET.toml").write_text(text, "utf-8")
    return place


def slow_policy(burst: int, cells: int = 1_000) -> str:
    """The open policy, but for how fast and how much one may ask."""
    start = OPEN_POLICY.index("[rates]")
    rates = OPEN_POLICY[start : OPEN_POLICY.index("[", start + 1)]
    slow = f"per_second = 0.01\nburst = {burst}\ncells_per_day = {cells}\n"
    return OPEN_POLICY.replace(rates, f"[rates]\n{slow}dataset_alarm = 10_000\n\n")


def census_service(
    data: Path, folder: Path, policy: str = OPEN_POLICY, secret: Path | None = None, **limits: Any
) -> Service:
    """A service with a copy of data, in a folder of its own, that has the census published."""
    shutil.copytree(data, folder / "datasets")
    trusted = write_policy(folder / "datasets" / "census-2022-1", folder, policy)
    if secret is None:
        secret = folder / "service.secret"
        Secret.generate().write(secret)
    settings = ServiceSettings(
        folder=folder,
        datasets=folder / "datasets",
        secret_file=secret,
        trusted_signers=(trusted,),
        limits=LimitSettings(**{"requests_per_second": 1e6, "burst": 10**6, **limits}),
    )
    service = Service(settings)
    service.datasets.publish("census", "2022-1", "berta")
    return service
