"""Endpoints and pages: HTTP in, HTTP out. What is done stands in lower layers."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .access import KnownVisit as KnownVisit
    from .access import OpenVisit as OpenVisit
    from .access import Visit as Visit
    from .access import check_allowed as check_allowed
    from .access import visit_with as visit_with
    from .approvals import ProposalId as ProposalId
    from .approvals import decide_proposal as decide_proposal
    from .audit import AuditSearch as AuditSearch
    from .audit import LogSearch as LogSearch
    from .audit import search_audit as search_audit
    from .audit import search_log as search_log
    from .audit import verify_audit as verify_audit
    from .datasets import list_datasets as list_datasets
    from .datasets import publish_dataset_version as publish_dataset_version
    from .datasets import retire_dataset_version as retire_dataset_version
    from .etags import Content as Content
    from .etags import conditional as conditional
    from .etags import etag_of as etag_of
    from .etags import file_response as file_response
    from .openapi import dependants as dependants
    from .openapi import describe_interface as describe_interface
    from .operations import hand_in_operation as hand_in_operation
    from .pages import Act as Act
    from .pages import Cell as Cell
    from .pages import Fold as Fold
    from .pages import FormVisit as FormVisit
    from .pages import NavigationEntry as NavigationEntry
    from .pages import PageForm as PageForm
    from .pages import PageTable as PageTable
    from .pages import PageWords as PageWords
    from .pages import Part as Part
    from .pages import Value as Value
    from .pages import address as address
    from .pages import back_to as back_to
    from .pages import detail_page as detail_page
    from .pages import form_visit_with as form_visit_with
    from .pages import list_page as list_page
    from .pages import own_place as own_place
    from .pages import page as page
    from .pages import path_to as path_to
    from .pages import sent as sent
    from .pages import set_cookie as set_cookie
    from .pages import time_text as time_text
    from .pages import words as words
    from .parameter_sets import ReasonGiven as ReasonGiven
    from .parameter_sets import propose_activation as propose_activation
    from .parameter_sets import propose_retirement as propose_retirement
    from .plugins import facades as facades
    from .policies import OverrideWanted as OverrideWanted
    from .policies import PolicyChange as PolicyChange
    from .policies import area_report as area_report
    from .policies import explained_refusal as explained_refusal
    from .policies import propose_override as propose_override
    from .policies import propose_policy as propose_policy
    from .problem_pages import LANGUAGE_COOKIE as LANGUAGE_COOKIE
    from .problem_pages import add_problem_pages as add_problem_pages
    from .programmes import PublicationRequest as PublicationRequest
    from .programmes import begin_run as begin_run
    from .programmes import check_text as check_text
    from .programmes import compare_draft as compare_draft
    from .programmes import confirmation as confirmation
    from .programmes import draft_of as draft_of
    from .programmes import get_programme_text as get_programme_text
    from .programmes import list_programmes as list_programmes
    from .programmes import programme_of as programme_of
    from .programmes import publish_programme as publish_programme
    from .programmes import take_programme as take_programme
    from .programmes import validate_programme as validate_programme
    from .queries import add_kept_answers as add_kept_answers
    from .queries import address_of as address_of
    from .queries import admitted as admitted
    from .queries import nearest_to as nearest_to
    from .queries import note_query as note_query
    from .queries import read_address as read_address
    from .releases import chosen_language as chosen_language
    from .releases import get_release as get_release
    from .releases import list_releases as list_releases
    from .security import BodyGate as BodyGate
    from .security import SecurityGate as SecurityGate
    from .security import TokenBuckets as TokenBuckets
    from .security import caller_address as caller_address
    from .security import request_cookie as request_cookie
    from .status import get_config as get_config
    from .status import get_ready as get_ready

lazy_face(__name__)
