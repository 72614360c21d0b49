"""How near a guess may come to a single contribution, unless somebody states otherwise."""

#: A contribution is not to be guessed within so many per cent, unless a column says otherwise.
P_PERCENT = 10.0
#: And the best guess may be as near as that so often; without any figure, one in seven of the
#: rents of the demonstration is within 10 % of the best guess.
CHANCE = 0.2
