"""`PolicyDocument`: what may be asked of one data version, signed by its custodians; what was
changed, is unsigned or leaves a limit open is refused. CONFIDENTIAL but for `public`.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.assessment import NoiseOdds
from discreet.errors import DiscreetError, Problem, raise_all
from discreet.files import toml_key, toml_value, write_text
from discreet.protection.noise import PerturbationTable
from discreet.release import key_id, public_bytes, read_signing_key

#: All rules; a document names every one of them.
RULES = tuple(f"P{number}" for number in range(1, 10))
#: What the detached signature of POLICY.toml is called.
SIGNATURE_SUFFIX = ".sig"

_PURPOSE = b"discreet policy: signature 1|"
_HEAD = "ed25519"
_LARGEST = 2**20
_MOST_TOLD = 40

_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
_Word = Annotated[str, Field(min_length=1, max_length=200)]
_Count = Annotated[int, Field(ge=1, le=10**12)]
#: What is known exactly counts as so many independent figures.
_KNOWN = 10**6
_Exposure = Annotated[float, Field(ge=1, le=_KNOWN, strict=False)]
_Share = Annotated[float, Field(gt=0, le=1, strict=False)]


class PolicyError(DiscreetError):
    """A policy cannot be used."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SizePolicy(_Section):
    """[size], P1: cells with totals."""

    cells_instant: _Count  # Up to so many are answered at once
    cells_job: _Count  # Up to so many by a job
    categories: _Count  # Codes of one variable


class VariablePolicy(_Section):
    """[variables], P2: how deep tables go."""

    # Variables that are no geography, in table and filters together
    most: Annotated[int, Field(ge=0, le=20)]
    # Level of geography → the same where this level is shown; every level is named
    depth: dict[_Word, Annotated[int, Field(ge=0, le=20)]]


class ExposurePolicy(_Section):
    """[exposure], P3: averaging, by how many independent figures a count may be estimated."""

    # Counts of no area in particular; they are large, and only rare codes among them are at risk
    everywhere: _Exposure
    # Level of geography → counts of its areas; see `exposure_limit`. Every level that
    # `variables.depth` names is named.
    levels: dict[_Word, _Exposure]
    # Answers of more cells than can be examined: refused, or judged by sizes of classifications
    unexamined: Literal["refuse", "sizes"] = "refuse"

    @property
    def unlimited(self) -> bool:
        """Whether counts may be known exactly, wherever they are."""
        return min(self.everywhere, *self.levels.values()) >= _KNOWN


class SmallUniversePolicy(_Section):
    """[small_universes], P4."""

    least: _Count  # The perturbed count of those whom a table is about is at least this


class DifferencePolicy(_Section):
    """[differences], P5."""

    least: Annotated[int, Field(ge=2, le=16)]  # Universes differ by so many units at least
    # By so many units at most a refusal is off in either direction
    blur: Annotated[int, Field(ge=0, le=16)]
    most_universes: _Count  # So many universes are kept; then no new ones are answered
    # Levels of geography on which a column may be shown in several groupings
    several_groupings: list[_Word] = []

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.blur > self.least:
            raise ValueError("the blur must not exceed the least difference")
        return self


class ReviewedGroup(_Section):
    """[[custom_groups.groups]]: codes that may be filtered together."""

    name: _Word
    variable: _Word
    level: _Word  # The level of the codes
    codes: Annotated[list[_Word], Field(min_length=2)]


class CustomGroupPolicy(_Section):
    """[custom_groups], P6."""

    # How many reviewed groups a variable has at most; 0 for none
    per_variable: Annotated[int, Field(ge=0, le=1_000)]
    groups: list[ReviewedGroup]  # The reviewed ones, for all users together
    # How many groupings of the classes of a variable at its break points, for all users together
    groupings: Annotated[int, Field(ge=0, le=100)] = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        variables = [group.variable for group in self.groups]
        if any(variables.count(name) > self.per_variable for name in set(variables)):
            raise ValueError("a variable has more groups than per_variable")
        return self


class SparsityPolicy(_Section):
    """[sparsity], P7, by perturbed counts."""

    small: Annotated[int, Field(ge=0, le=1_000)]  # Counts up to this are small
    share_small: _Share  # The largest share of small ones among the cells that are not empty
    share_single: _Share  # The largest share of rows in which one category has all
    # Tables with fewer cells that are not empty are not judged
    least_cells: Annotated[int, Field(ge=0, le=10**6)]
    # What becomes of a table that is too sparse: "hide" its sparse parts, or "refuse" the whole.
    # A policy that does not say it was signed as one that refuses.
    then: Literal["refuse", "hide"] = "refuse"


class FlowPolicy(_Section):
    """[flows], P2: tables by two geographies, such as places of residence and of work."""

    # Level of geography → variables that are no geography; other levels are not answered
    depth: dict[_Word, Annotated[int, Field(ge=0, le=20)]]
    least: _Count  # Flows between areas with a smaller perturbed count are hidden


class AreaPolicy(_Section):
    """[areas]: areas that tables leave out, by their perturbed counts alone."""

    # By one, two, … variables that are no geography: the smallest area that is shown; the last of
    # these holds for more variables
    least: Annotated[list[_Count], Field(min_length=1, max_length=20)]


class RatePolicy(_Section):
    """[rates], P8."""

    # Queries of one principal, in the long run
    per_second: Annotated[float, Field(gt=0, le=10**4, strict=False)]
    burst: _Count  # And at once
    cells_per_day: _Count  # Cells per day of one principal that nobody was given before
    dataset_alarm: _Count  # The same of all together; more raise an alarm


class PatternLimits(_Section):
    """Numbers at which a pattern is told of."""

    alert: _Count  # Staff is told of a principal
    stop: _Count  # The principal has to talk to staff
    together: _Count  # Staff is told of all principals together

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.stop < self.alert:
            raise ValueError("stop must not be below alert")
        return self


class PatternPolicy(_Section):
    """[patterns], P9: what looks like an attack."""

    window_hours: Annotated[int, Field(ge=1, le=24 * 366)]  # How long one is remembered
    contact: _Word  # Whom to talk to, as shown to callers
    partitions: PatternLimits  # Groups of codes of the same universe
    crossings: PatternLimits  # Tables of the same universe by other variables
    near: PatternLimits  # Pairs of universes that differ little
    spellings: PatternLimits  # Ways of writing the same query


class PolicyDocument(_Section):
    """Policy of one data version. No limit has a default.

    >>> PolicyDocument.of_text('dataset = "census"')
    Traceback (most recent call last):
        ...
    discreet_service.policies.document.PolicyError: [policy] policy: 12 problems in the policy
    ...
    """

    dataset: _Name  # The data set
    version: _Name
    revision: _Count  # Grows with every change
    # All rules, P1 to P9; a rule that this service does not know refuses everything
    rules: list[Annotated[str, Field(pattern=r"^P[1-9][0-9]?$")]]
    size: SizePolicy  # P1
    variables: VariablePolicy  # P2
    # P2, for tables by two geographies; None for the limits of all tables
    flows: FlowPolicy | None = None
    # P2: areas that are left out of tables; None for none
    areas: AreaPolicy | None = None
    exposure: ExposurePolicy  # P3
    small_universes: SmallUniversePolicy  # P4
    differences: DifferencePolicy  # P5
    custom_groups: CustomGroupPolicy  # P6
    sparsity: SparsityPolicy  # P7
    rates: RatePolicy  # P8
    patterns: PatternPolicy  # P9

    @model_validator(mode="after")
    def _check(self) -> Self:
        missing = [name for name in RULES if name not in self.rules]
        if missing or len(set(self.rules)) < len(self.rules):
            raise ValueError(
                f"rules must name each rule once; missing: {', '.join(missing) or 'none'}"
            )
        if self.size.cells_job < self.size.cells_instant:
            raise ValueError("size: cells_job must not be below cells_instant")
        if self.exposure.levels.keys() != self.variables.depth.keys():
            raise ValueError("exposure.levels and variables.depth must name the same levels")
        least = self.differences.least + 2 * self.differences.blur
        if self.small_universes.least <= least:
            raise ValueError(
                f"small_universes: least must not exceed {least}, the limit of differences"
            )
        return self

    @classmethod
    def of_text(cls, text: str, where: str = "policy") -> PolicyDocument:
        """The policy of a text, whoever wrote it."""
        problems: list[Problem] = []
        try:
            return cls.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            problems = [Problem(f"not valid TOML: {error}", where)]
        except ValidationError as error:
            problems = [
                Problem(str(one["msg"]), ".".join(map(str, one["loc"])) or where)
                for one in error.errors(include_input=False, include_url=False)
            ]
        many = "{} problems in the policy"
        raise_all(PolicyError, problems, code="policy", many=many, where=where, most=_MOST_TOLD)
        raise AssertionError(where)

    @property
    def digest(self) -> str:
        """Digest of what is said, however it is laid out."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        text = json.dumps(values, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(b"policy 1\n" + text.encode()).hexdigest()

    def changed(self, limits: Mapping[str, Any], revision: int) -> str:
        """The text of the same policy with other limits, by their keys: "variables.depth.state"."""
        document = self.model_dump(mode="json", exclude_defaults=True)
        for place, limit in limits.items():
            # Section, then a table of levels or patterns if there is one; the rest is one key.
            section, _, name = place.partition(".")
            above, (inner, _, key) = document[section], name.partition(".")
            if key:
                above[inner][key] = limit
            else:
                above[name] = limit
        lines = []
        for name, value in (document | {"revision": revision}).items():
            if isinstance(value, dict):
                lines += ["", f"[{name}]"]
                lines += [f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()]
            else:
                lines.append(f"{name} = {toml_value(value)}")
        return "\n".join(lines) + "\n"

    def public(self) -> dict[str, Any]:
        """Public limits: those that depend on classifications and time only."""
        groups = [group.model_dump(mode="json") for group in self.custom_groups.groups]
        return {
            "dataset": self.dataset,
            "version": self.version,
            "revision": self.revision,
            "rules": list(self.rules),
            "size": self.size.model_dump(),
            "variables": self.variables.model_dump(),
            **({"flows": self.flows.model_dump()} if self.flows else {}),
            **({"areas": self.areas.model_dump()} if self.areas else {}),
            "groups": groups,
            "rates": self.rates.model_dump(include={"per_second", "burst", "cells_per_day"}),
        }


class SignedPolicy(_Section):
    """A policy with its signature."""

    document: PolicyDocument  # What it says
    text: str  # How it is written
    signature: str  # Its detached signature

    @property
    def signer(self) -> str:
        """Short name of the key that signed."""
        return key_id(bytes.fromhex(self.signature.split()[1]))


def sign_policy(
    path: str | os.PathLike[str], key: Ed25519PrivateKey | str | os.PathLike[str]
) -> Path:
    """Sign a policy that is fit to be used; the signature goes beside it."""
    place = Path(path)
    text = _read(place)
    PolicyDocument.of_text(text, place.name)
    signing = key if isinstance(key, Ed25519PrivateKey) else read_signing_key(key)
    signature = signing.sign(_PURPOSE + text.encode())
    target = place.with_name(place.name + SIGNATURE_SUFFIX)
    write_text(target, f"{_HEAD} {public_bytes(signing).hex()} {signature.hex()}\n")
    return target


def signed_policy(path: str | os.PathLike[str], signers: Collection[bytes]) -> SignedPolicy:
    """Read a policy and its signature, and check both."""
    place = Path(path)
    signature = place.with_name(place.name + SIGNATURE_SUFFIX)
    if not signature.exists() and place.exists():
        raise _untrusted("the policy is not signed", place.name)
    return policy_of(_read(place), _read(signature), signers, place.name)


def policy_of(
    text: str, signature: str, signers: Collection[bytes], where: str = "policy"
) -> SignedPolicy:
    """A policy and its signature, both checked; the signature first."""
    try:
        head, public, proof = signature.split()
        signer, signed = bytes.fromhex(public), bytes.fromhex(proof)
    except ValueError:
        raise _untrusted("not a signature of a policy", where) from None
    if head != _HEAD or signer not in signers:
        raise _untrusted("the signer of the policy is not trusted", where)
    try:
        Ed25519PublicKey.from_public_bytes(signer).verify(signed, _PURPOSE + text.encode())
    except (InvalidSignature, ValueError):
        raise _untrusted("the policy changed after signing", where) from None
    return SignedPolicy(
        document=PolicyDocument.of_text(text, where), text=text, signature=signature
    )


def exposure_limit(ptable: PerturbationTable, success: float = 0.6) -> float:
    """The exposure at which averaging finds a count so often: for `exposure`. SECRET."""
    return NoiseOdds.of(ptable).tolerated(success)


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        message = f"the policy cannot be read ({error.strerror})"
        raise PolicyError(message, code="policy", where=path.name) from None
    if len(content) > _LARGEST:
        raise PolicyError("too large for a policy", code="policy", where=path.name)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise PolicyError("the policy is not text", code="policy", where=path.name) from None


def _untrusted(what: str, where: str) -> PolicyError:
    hint = "sign it with sign_policy(path, key)"
    return PolicyError(what, code="policy-signature", where=where, hint=hint)
