#!/bin/sh
# Print the Python to make the environment with: the ones named, else the usual names.
# Says why none will do: too old, or without the venv module.
named="$*"
candidates=${named:-python3 python3.14 python3.13 python3.12 python3.11 python}
why=""
for python in $candidates; do
    if ! version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then
        test -z "$named" || why="$why
  $python: cannot be run"
    elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        why="$why
  $python: version $version is too old"
    elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        why="$why
  $python: version $version has no venv module (Debian, Ubuntu: apt-get install python$version-venv)"
    else
        echo "$python"
        exit 0
    fi
done
echo "discreet needs Python 3.11 or newer with the venv module.$why
  Hint: install one, or name it: make PYTHON=/path/to/python3 …" >&2
exit 1
