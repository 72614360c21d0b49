"""The methods of protection that programmes can ask for: one row for each.

In: the protocol of `discreet.protection.protocol`. Out: its rows, in the order of reports. What
noise and suppression answer needs sections, rules and parameters of a programme, and stands
here; a method that asks only what every method may ask stands in its folder of
`discreet.protection`, and has its row here.
"""

from collections.abc import Iterator

from discreet.protection.protocol import Protection, register_when_used


@register_when_used
def _methods() -> Iterator[Protection]:
    from discreet.protection.noise import InvariantProtection
    from discreet.release.methods.noise.method import NoiseProtection
    from discreet.release.methods.rounding import RoundingProtection
    from discreet.release.methods.sample import SampleProtection
    from discreet.release.methods.suppression.method import SuppressionProtection
    from discreet.release.methods.unit_noise import UnitNoiseProtection

    yield NoiseProtection()
    yield SuppressionProtection()
    yield RoundingProtection()
    yield UnitNoiseProtection()
    yield InvariantProtection()
    yield SampleProtection()
