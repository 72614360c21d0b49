"""Hierarchy files (.hrc) and label files (.cdl).

In and out: texts with one code per line. The level of a code is the number of
leading repeats of a lead string; the total is not listed. A label file has lines
``code,label``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from discreet.classifications.parents import CodeLink, tree_from_links
from discreet.classifications.text_files import TextFile, file_error
from discreet.classifications.tree import CodeTree, raise_problems
from discreet.errors import Problem

LEAD = "@"

#: Other lead characters that are recognised when a file has no ``@``.
_OTHER_LEADS = ".#*>~$&\t"
_COMMENT = re.compile(r"(//|\\\\).*$")
_NOT_HRC = re.compile(
    r'\s*(\{\s*"|\w+ = ["\[{]|"?level"?\s*[,;]\s*"?name"?|"?child"?\s*[,;]\s*"?parent)'
)


def read_hrc(
    file: TextFile, name: str | None, *, total: str, lead: str | None, strip: bool
) -> CodeTree:
    """The tree of a hierarchy file."""
    if _NOT_HRC.match(file.text):
        hint = "a hierarchy file has one code per line; name the file .json, .toml or .csv"
        raise file_error("not a hierarchy file", file.path, hint=hint)
    lines = [(number, _COMMENT.sub("", line).rstrip()) for number, line in file.lines()]
    lines = [(number, line) for number, line in lines if line]
    mark: str = _lead(file, [line for _, line in lines]) if lead is None else lead
    if not mark:
        raise file_error("the lead string is empty", file.path, hint='such as lead="@"')
    entries = []
    for number, line in lines:
        depth, code = 0, line
        while code.startswith(mark):
            depth, code = depth + 1, code[len(mark) :]
        entries.append((number, depth, code.strip() if strip else code))
    return tree_from_links(name or file.stem, nested_links(file, entries), total)


def _lead(file: TextFile, lines: Sequence[str]) -> str:
    used = [mark for mark in LEAD + _OTHER_LEADS if any(line.startswith(mark) for line in lines)]
    if LEAD in used or not used:
        return LEAD
    if len(used) > 1 or lines[0].startswith(used[0]):
        raise file_error(
            "the lead string is ambiguous: lines start with " + " and ".join(map(repr, used)),
            file.path,
            hint='name it, such as lead="@"',
        )
    return used[0]


def nested_links(file: TextFile, entries: Sequence[tuple[int, int, str]]) -> list[CodeLink]:
    """Links from lines with a depth: each code stands below the last one less deep."""
    path: list[str] = []
    links: list[CodeLink] = []
    problems: list[Problem] = []
    for number, depth, code in entries:
        where = file.place(number)
        if not code.strip():
            problems.append(Problem("the line lacks a code", where))
            continue
        if depth > len(path):
            message = f"code {code!r} is {depth - len(path) + 1} levels below the line before it"
            problems.append(Problem(message, where, "each line can be at most one level deeper"))
            depth = len(path)
        del path[depth:]
        links.append(CodeLink(code, path[-1] if path else "", where))
        path.append(code)
    raise_problems(file.path.name, problems)
    return links


def hrc_text(tree: CodeTree, *, lead: str = LEAD) -> str:
    """A hierarchy file of all codes but the total; labels have no place in it."""
    raise_problems(tree.name, list(_unwritable(tree, lead)), what="{} codes do not fit a .hrc file")
    depths = tree.levels.tolist()
    pairs = zip(tree.codes[1:], depths[1:], strict=True)
    text = "".join(f"{lead * (depth - 1)}{code}\n" for code, depth in pairs)
    if _NOT_HRC.match(text):
        message = f"code {tree.codes[1]!r} looks like the start of another format"
        raise_problems(tree.name, [Problem(message, tree.name, "write .json instead")])
    return text


def _unwritable(tree: CodeTree, lead: str) -> Iterator[Problem]:
    if not lead or lead.strip() != lead or _COMMENT.search(lead):
        yield Problem(f"invalid lead string {lead!r}", tree.name, 'such as lead="@"')
        return
    if len(tree) == 1:
        yield Problem("no codes below the total", tree.name)
    for code in tree.codes[1:]:
        if code.startswith(lead):
            message = f"code {code!r} starts with the lead string"
            yield Problem(message, tree.name, "choose another with lead=")
        elif lead == LEAD and tree.depth == 1 and code[0] in _OTHER_LEADS:
            message = f"code {code!r} would be read as one on a lower level"
            yield Problem(message, tree.name, "write .json instead")
        elif _COMMENT.search(code):
            message = f"code {code!r} has the mark of a comment, // or \\\\"
            yield Problem(message, tree.name, "write .json instead")
        elif code != code.rstrip() or not code.strip() or len(code.splitlines()) != 1:
            message = f"code {code!r} ends in a blank or has a line break"
            yield Problem(message, tree.name, "write .json instead")


# -- label files --------------------------------------------------------------


def read_cdl(file: TextFile, tree: CodeTree, *, strip: bool) -> dict[str, str]:
    """The labels of a label file, code by code."""
    labels: dict[str, str] = {}
    problems: list[Problem] = []
    for number, line in file.lines():
        code, comma, label = line.partition(",")
        code = _unquoted(code, strip)
        text = _unquoted(label, True)
        problem = _cdl_problem(code, text if comma else None, tree, labels)
        if problem:
            problems.append(Problem(problem[0], file.place(number), problem[1]))
        labels.setdefault(code, text)
    raise_problems(file.path.name, problems, what="{} problems in the labels")
    return labels


def _cdl_problem(
    code: str, label: str | None, tree: CodeTree, before: Mapping[str, str]
) -> tuple[str, str] | None:
    if not label:
        return "the label is missing", "write code,label"
    if code in before:
        return f"code {code!r} has two labels", ""
    if code not in tree.index and code != tree.missing:
        hint = "leave it out; or name the missing category with missing="
        return f"code {code!r} is not in the classification", hint
    return None


def _unquoted(text: str, strip: bool) -> str:
    bare = text.strip() if strip else text.rstrip()
    if len(bare) > 1 and bare[0] == bare[-1] == '"':
        bare = bare[1:-1]
    return bare.strip() if strip else bare


def cdl_text(tree: CodeTree, language: str) -> str:
    """A label file of all codes but the total that have a label of their own."""
    lines: list[str] = []
    problems: list[Problem] = []
    for code in tree.codes[1:]:
        label = tree.labels.get(code, {}).get(language)
        if label is None:
            continue
        if "," in code or len(f"{code}{label}".splitlines()) != 1 or '"' in (code[0], label[0]):
            message = f"code {code!r} or its label has a comma, quote or line break"
            problems.append(Problem(message, tree.name, "write .json or .csv instead"))
        lines.append(f"{code},{label}\n")
    raise_problems(tree.name, problems, what="{} labels do not fit a .cdl file")
    if not lines:
        raise_problems(tree.name, [Problem(f"no labels in language {language!r}", tree.name)])
    return "".join(lines)
