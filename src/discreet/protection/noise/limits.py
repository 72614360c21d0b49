"""Limits of noise: how near a guess may usually come, and those of stated numbers."""

#: A contribution is not to be guessed within so many per cent, unless a column says otherwise.
P_PERCENT = 10.0
#: And the best guess may be as near as that so often; without any figure, one in seven of the
#: rents of the demonstration is within 10 % of the best guess.
CHANCE = 0.2
#: More digits than a double holds would say nothing.
MOST_DECIMALS = 15
#: Figures are rounded to multiples of at most this.
MOST_ROUNDED = 1_000_000
