"""Table programmes and their release.

In: a programme file and what it names (confidential). Out: a folder of protected
tables (public). `protect` does all of it; `read_programme` only reads and checks;
`protect_by_programme` is the same for cells that were made elsewhere; `anonymise` carries
out programmes for records.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .advice import Advice as Advice
    from .advice import Question as Question
    from .advice import advise as advise
    from .advice import open_question as open_question
    from .advice import preparations as preparations
    from .anonymisation import anonymise as anonymise
    from .attacks.attack import PlannedExposure as PlannedExposure
    from .attacks.attack import attack as attack
    from .attacks.attack import attack_periods as attack_periods
    from .attacks.attack import cells_of_record as cells_of_record
    from .attacks.attack import planned_exposure as planned_exposure
    from .attacks.page import attack_page as attack_page
    from .attacks.page import attack_rates as attack_rates
    from .attacks.page import planned_page as planned_page
    from .cell_programme import CellProgramme as CellProgramme
    from .cell_programme import protect_by_programme as protect_by_programme
    from .confidential_files import cell_table as cell_table
    from .confidential_files import check_target as check_target
    from .confidential_files import convert_perturbation_table as convert_perturbation_table
    from .confidential_files import inherit_keys_in_file as inherit_keys_in_file
    from .confidential_files import tabulate_file as tabulate_file
    from .confidential_files import write_confidential as write_confidential
    from .cubes import build_store as build_store
    from .cubes import describe_cubes as describe_cubes
    from .cubes import join_cube_files as join_cube_files
    from .cubes import make_cubes as make_cubes
    from .drafted_programmes import drafted as drafted
    from .drafted_programmes import write_draft as write_draft
    from .edited_programmes import add_tables as add_tables
    from .edited_programmes import crossed_tables as crossed_tables
    from .edited_programmes import listed_tables as listed_tables
    from .edited_programmes import set_keys as set_keys
    from .first_programmes import check_line as check_line
    from .first_programmes import check_saved as check_saved
    from .first_programmes import protect_line as protect_line
    from .first_programmes import save_programme as save_programme
    from .inputs import Inputs as Inputs
    from .packages.container import LARGEST as LARGEST
    from .packages.keys import PackageKey as PackageKey
    from .packages.keys import key_id as key_id
    from .packages.keys import public_bytes as public_bytes
    from .packages.keys import read_signing_key as read_signing_key
    from .packages.keys import read_verify_key as read_verify_key
    from .packages.keys import write_key_pair as write_key_pair
    from .packages.package import describe_package as describe_package
    from .packages.package import open_parameters as open_parameters
    from .packages.package import pack_parameters as pack_parameters
    from .packages.package import verify_package as verify_package
    from .packages.parameters import Magnitude as Magnitude
    from .packages.parameters import Parameters as Parameters
    from .packages.parameters import is_older as is_older
    from .packages.parameters import parameters_of as parameters_of
    from .packages.programme_parameters import read_parameters as read_parameters
    from .packages.programme_parameters import (
        warnings_about_parameters as warnings_about_parameters,
    )
    from .programme.file import UNIVERSE as UNIVERSE
    from .programme.file import Programme as Programme
    from .programme.file import ProgrammeFile as ProgrammeFile
    from .programme.file import key_line as key_line
    from .programme.file import raise_problems as raise_problems
    from .programme.file import read_form as read_form
    from .programme.schema import COUNTED as COUNTED
    from .programme.schema import MERGED as MERGED
    from .programme.schema import Document as Document
    from .programme.schema import FigureEntry as FigureEntry
    from .programme.schema import QualityEntry as QualityEntry
    from .programme.schema import TableEntry as TableEntry
    from .programme.toml_lines import KeyPath as KeyPath
    from .programme.toml_lines import LineIndex as LineIndex
    from .programme.values import Decimals as Decimals
    from .programme.values import ProgrammeEntry as ProgrammeEntry
    from .programme.values import Texts as Texts
    from .programme.variables import found_codes as found_codes
    from .programme.variables import rule_where_known as rule_where_known
    from .programme.variables import spanning_variables as spanning_variables
    from .record_files import audit_published_file as audit_published_file
    from .record_files import checked_table as checked_table
    from .record_files import suppress_table as suppress_table
    from .record_tables import MarkedTable as MarkedTable
    from .record_tables import RecordTable as RecordTable
    from .record_tables import checked_rules as checked_rules
    from .record_tables import rules_from as rules_from
    from .record_tables import spanning_of as spanning_of
    from .record_tables import spanning_of_cells as spanning_of_cells
    from .record_tables import with_missing_totals as with_missing_totals
    from .report.summary import MANIFEST as MANIFEST
    from .report.summary import ReleasedTable as ReleasedTable
    from .report.summary import ReleaseSummary as ReleaseSummary
    from .run.counts import KeyedRecords as KeyedRecords
    from .run.counts import release_context as release_context
    from .run.data_checks import check_release as check_release
    from .run.data_checks import check_revision as check_revision
    from .run.data_checks import checked_inputs as checked_inputs
    from .run.finished_releases import ReleaseAudit as ReleaseAudit
    from .run.finished_releases import VerifiedRelease as VerifiedRelease
    from .run.finished_releases import audit_release as audit_release
    from .run.finished_releases import verify_release as verify_release
    from .run.inputs import open_inputs as open_inputs
    from .run.inputs import open_programme as open_programme
    from .run.inputs import read_programme as read_programme
    from .run.period_checks import release_changes as release_changes
    from .run.plan import outputs as outputs
    from .run.release import annotated as annotated
    from .run.release import carry_out as carry_out
    from .run.release import protect as protect
    from .single_areas import area_tables as area_tables
    from .state.memory import read_release as read_release
    from .state.seal import FOLDER as FOLDER
    from .state.seal import SEAL as SEAL
    from .state.seal import ReleaseSeal as ReleaseSeal
    from .state.seal import differences as differences
    from .state.seal import is_plain as is_plain
    from .state.seal import read_seal as read_seal
    from .structure_programmes import StructureDraft as StructureDraft
    from .structure_programmes import write_structure_programme as write_structure_programme
    from .transmission import Transmission as Transmission
    from .transmission import transmit as transmit
    from .tuned_programmes import tune_programme as tune_programme

lazy_face(__name__)
