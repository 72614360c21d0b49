"""The commands of output checking: ``discreet fire …``; no logic of their own."""
