"""Examples of the interface, played as one story, and answers held against their schemas."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from discreet.release.packages import pack_parameters
from discreet_fire.queue import Queue, QueueSettings
from discreet_service.application import create_app
from discreet_service.demo import make_demonstration
from discreet_service.installation import LOCAL
from discreet_service.permissions import Grant
from discreet_service.policies import sign_policy
from discreet_service.service import Service
from discreet_service.settings import ReviewSettings, ServiceSettings
from discreet_service.web.openapi import operations
from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.running_service import CHEAP, UNBOUNDED
from tests.helpers.service_cells import parameters

#: Who makes the calls of which operations, in an order in which each finds what it needs. A job
#: that was handed in is done when "jobs" comes.
STORY = (
    ("", "get_config get_live get_ready get_px_config"),
    ("demo-client", "list_datasets get_dataset get_dataset_version list_variables list_codes"),
    ("demo-client", "check_query run_query get_data create_job"),
    ("demo-tool", "list_parameter_sets show_parameter_set"),
    ("paul", "suppress_table_cells audit_table_cells jobs list_jobs get_job get_job_result"),
    ("paul", "round_table_cells study_rounded_cells study_suppressed_cells"),
    ("paul", "adjust_table_cells study_adjusted_cells"),
    ("paul", "anonymise_file study_anonymised_file make_up_records assess_risk_of_records"),
    ("paul", "synthesise_records study_synthetic_records"),
    ("paul", "perturb_table_cells study_perturbed_cells perturb_cells_invariantly"),
    ("paul", "perturb_cell_magnitudes study_perturbed_magnitudes"),
    ("paul", "study_invariant_cells suppress_cell_parts study_cell_parts sum_unit_noise"),
    ("paul", "study_unit_noise make_table_additive study_additive_cells"),
    ("paul", "compute_table_quantiles"),
    ("paul", "attack_table_cells study_attacked_cells"),
    ("paul", "stream_job_events cancel_job validate_text upload_programme list_programmes"),
    ("paul", "validate_programme get_programme_text run_programme_job jobs get_programme"),
    ("paul", "compare_draft download_draft_file publish_programme"),
    ("pia", "approve_proposal/release"),
    ("demo-client", "list_releases get_release get_release_table get_release_table_about"),
    ("demo-client", "download_release_file list_px_tables get_px_table get_px_metadata"),
    ("demo-client", "get_px_default_selection get_px_data post_px_data get_px_code_list"),
    ("demo-client", "save_px_query get_px_saved_query run_px_saved_query get_px_saved_selection"),
    ("demo-client", "get_sdmx_structure get_sdmx_data show_policy"),
    ("cora", "show_policy_document propose_policy report_areas"),
    ("carl", "show_proposed_policy"),
    ("otto", "search_log"),
    ("paul", "explain_refusal propose_override list_policy_alerts"),
    ("cora", "import_parameter_set propose_activation list_proposals"),
    ("carl", "get_proposal approve_proposal/usual propose_retirement reject_proposal"),
    ("paul", "withdraw_proposal"),
    ("adam", "get_metrics list_people create_person grant_role withdraw_role disable_person"),
    ("adam", "enable_person reset_password"),
    ("rita", "get_me create_key list_keys rotate_key revoke_key"),
    ("otto", "search_audit verify_audit compare_audit export_audit"),
    ("demo-tool", "protect_cell_counts protect_cell_values protect_cell_figures"),
    ("demo-tool", "protect_table_parts"),
    ("paul", "publish_dataset_version retire_dataset_version"),
    ("ruth", "hand_in_submission jobs list_own_submissions"),
    ("bert", "list_submissions get_submission decide_on_outputs act_on_submission"),
    ("ruth", "fetch_released_file"),
)
#: What differs from service to service.
_NAMED = re.compile(r"[0-9a-f]{12,64}|[0-9a-f]{4}(-[0-9a-f]{4}){3,}|ed25519 .*|dsc_.*")


@dataclass(frozen=True, kw_only=True)
class DocumentedCall:
    """A call as the document shows it: what has one name belongs together."""

    operation: str
    name: str
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = ""
    body: Any = None
    status: str
    answer: str
    shown: Any = None


def documented_calls(document: Mapping[str, Any]) -> Iterator[DocumentedCall]:
    """All calls that a document shows."""
    for method, path, operation in operations(document):
        for status, media, name, shown in _answers(operation):
            places: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}}
            for each in operation.get("parameters", []):
                value = each.get("examples", {}).get(name, {}).get("value", {})
                more = value if each["name"] == "further" else {each["name"]: value}
                places[each["in"]] |= {k: v for k, v in more.items() if v != {}}
            body, kind = None, ""
            for each, content in operation.get("requestBody", {}).get("content", {}).items():
                if name in content.get("examples", {}):
                    kind, body = each, content["examples"][name].get("value")
            address = path
            for part, value in places["path"].items():
                address = address.replace(f"{{{part}}}", value)
            yield DocumentedCall(
                operation=operation["operationId"],
                name=name,
                method=method.upper(),
                path=address,
                query=places["query"],
                headers=places["header"],
                media=kind,
                body=body,
                status=status,
                answer=media,
                shown=shown,
            )


def _answers(operation: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    for status, answer in operation["responses"].items():
        for name in answer.get("x-examples", []):
            yield status, "", name, None
        for media, content in answer.get("content", {}).items():
            for name, shown in content.get("examples", {}).items():
                yield status, media, name, shown["value"]
            for name in content.get("x-examples", []):
                yield status, media, name, None


class Storyteller:
    """Plays the calls of a document against the demonstration.

    What an answer calls differently from its example, such as the number of a job, is called so
    in all calls that follow.
    """

    def __init__(self, folder: Path) -> None:
        shown = make_demonstration(folder / "demo")
        self._keys, self._root = shown.keys, folder / "demo"
        self._second_version()
        settings = ServiceSettings.read(shown.settings)
        self.service = Service(replace(settings, limits=UNBOUNDED, reviews=self._reviews()))
        self.service.users._cost = CHEAP
        self._add_people(ruth="researcher", bert="reviewer")
        self.app = create_app(self.service)
        self.document: dict[str, Any] = self.app.openapi()
        self.secrets = [*shown.keys.values(), *shown.passwords.values(), str(folder)]
        self._files = self._written(folder)
        self._known: dict[str, str] = {}
        self._cookies: dict[str, str] = {}

    def _reviews(self) -> ReviewSettings:
        """A review queue over data of 600 persons, in which one decides."""
        found = ReviewSettings(
            folder=self._root / "studies",
            queue=self._root / "queue",
            data={"panel": "panel.csv"},
            units={"panel": "pid"},
        )
        found.folder.mkdir()
        lines = [f"{at},{1 + at % 4},{1 + at // 300}" for at in range(600)]
        (found.folder / "panel.csv").write_text("\n".join(["pid,grp,sex", *lines]), "utf-8")
        Queue.create(found.queue, QueueSettings(persons=("bert",), rate=0.0)).close()
        return found

    def _add_people(self, **roles: str) -> None:
        for name, role in roles.items():
            self.service.users.add(LOCAL, name)
            self.service.users.grant(LOCAL, name, Grant(role))

    def _second_version(self) -> None:
        first = self._root / "datasets" / "census-2022-1"
        second = first.with_name("census-2022-2")
        shutil.copytree(first, second)
        for name in ("DATASET.toml", "POLICY.toml"):
            text = (first / name).read_text("utf-8").replace('"2022-1"', '"2022-2"')
            (second / name).write_text(text, "utf-8")
        (second / "POLICY.toml.sig").unlink()
        sign_policy(second / "POLICY.toml", self._root / "office.key")

    def _written(self, folder: Path) -> dict[str, Any]:
        """What examples name and do not hold: a policy that is signed, a package."""
        policy = folder / "POLICY.toml"
        text = (self._root / "datasets" / "census-2022-1" / "POLICY.toml").read_text("utf-8")
        policy.write_text(text.replace("revision = 1", "revision = 2"), "utf-8")
        signature = sign_policy(policy, self._root / "office.key")
        package, settings = folder / "census-2.dcparams", self.service.settings
        pack_parameters(
            parameters(), package, statistic="census", version="2",
            sign_key=self._root / "office.key", key=settings.package_key_file,
        )  # fmt: skip
        return {
            "the text of POLICY.toml": policy.read_text("utf-8"),
            "the content of POLICY.toml.sig": Path(signature).read_text("utf-8"),
            "package": package.read_bytes(),
        }

    def ask(self, who: str, method: str, path: str, **more: Any) -> httpx.Response:
        """Ask as somebody: a system with its key, or a person who has logged in."""
        base, head = self.service.settings.base_url, dict(more.pop("headers", {}))
        browser = AsgiBrowser(self.app, base)
        if who in self._keys:
            head["Authorization"] = f"Bearer {self._keys[who]}"
        elif who:
            if who not in self._cookies:
                account = self.service.users.account(who)
                self._cookies[who] = self.service.sessions.start(account)
            browser.cookies.set("discreet", self._cookies[who])
            head["Origin"] = base
        return browser.ask(method, path, headers=head, **more)

    def play(self, call: DocumentedCall, who: str) -> httpx.Response:
        """Make a call, and keep in mind what is called differently here."""
        wanted = f"{call.answer}, */*;q=0.1" if call.status[0] == "2" else "*/*"
        more: dict[str, Any] = {"headers": {"Accept": wanted, **call.headers}}
        if call.query:
            more["params"] = {name: self._here(value) for name, value in call.query.items()}
        if call.media:
            more["headers"]["Content-Type"] = call.media
            more["content"] = self._body(call)
        answer = self.ask(who, call.method, self._here(call.path), **more)
        if call.answer.endswith("json") and "ndjson" not in call.answer and call.shown is not None:
            self._learn(call.shown, answer.json())
        return answer

    def _body(self, call: DocumentedCall) -> bytes:
        if call.body is None:
            found: bytes = self._files["package"]
            return found
        if isinstance(call.body, str):
            return call.body.encode()
        body = {k: self._files.get(str(v), v) for k, v in call.body.items()}
        return self._here(json.dumps(body)).encode()

    def _here(self, text: str) -> str:
        for shown in sorted(self._known, key=len, reverse=True):
            text = text.replace(shown, self._known[shown])
        return text

    def _learn(self, shown: Any, told: Any) -> None:
        if isinstance(shown, dict) and isinstance(told, dict):
            for name in shown.keys() & told.keys():
                self._learn(shown[name], told[name])
        elif isinstance(shown, list) and isinstance(told, list):
            for one, other in zip(shown, told, strict=False):
                self._learn(one, other)
        elif isinstance(shown, str) and isinstance(told, str) and _NAMED.fullmatch(shown):
            self._known.setdefault(shown, told)
