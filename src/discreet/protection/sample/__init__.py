"""Estimates from a sample with their precision: what `discreet.derived` works out, in a release."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .method import SampleProtection as SampleProtection

lazy_face(__name__)
