"""Attacks carried out on publications: what they give away.

Protected tables go in, by the universe they count; what each attack finds comes out.

- `attacked`: all attacks on tables, as an `AttackReport`
- `PublishedFigures`: every published count once, and what adds up to what
- `estimated`, `bounded`, `resolved`, `likeliest`, `near_twins`, `found_parameters`, `shared_noise`,
  `group_disclosures`, `attacked_values`, `alike_noise`, `reconstruct`: each attack on its own
- `NoiseOdds`, `exposure_of`: how likely attacks succeed, before anything is counted
- `attacked_panel`: what tables of several periods give away, on a panel whose truth is known; the
  attacks themselves are those of `periods`
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .bounds import NoiseRange as NoiseRange
    from .bounds import bounded as bounded
    from .bounds import likeliest as likeliest
    from .bounds import reconstruct as reconstruct
    from .bounds import resolved as resolved
    from .figures import PublishedFigures as PublishedFigures
    from .figures import near_twins as near_twins
    from .panels import AttackSuccess as AttackSuccess
    from .panels import attacked_panel as attacked_panel
    from .parameters import NoiseOdds as NoiseOdds
    from .parameters import estimated as estimated
    from .parameters import exposure_of as exposure_of
    from .parameters import found_parameters as found_parameters
    from .report import AttackReport as AttackReport

lazy_face(__name__)
