"""What a Python script gets instead of an expression, and code that it holds in texts.

In: nodes of the tree, and the marks of its names. Out: the text of a safe call where there is one
for what would be shown; refusals, which take a whole statement out or put an error in place of a
part; findings on texts that are run (``df.query("…")``, ``df.agg("mean")``, ``smf.ols("y ~ x",
df)``), and reviews where one cannot be read.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from discreet_fire.catalogue import Action
from discreet_fire.findings import Severity
from discreet_fire.flow import PythonMarks
from discreet_fire.rewriting.changes import Language, ProgramNotes, comment_words
from discreet_fire.rewriting.script_walk import ScriptWalk
from discreet_fire.scripts import (
    Node,
    arguments,
    is_assignment,
    is_part,
    read_python,
    text_of,
    word_of,
)

_CALLED = re.compile(r"([@\w.]+)\s*\(")
_HIDDEN = re.compile(r"[\])]\s*\(|__")
_EVIDENCE = re.compile(r"[{(][^{}()]*evidence")
_QUOTED = re.compile(r"`[^`]*`")
_DEEPEST = 6
#: A name that is bound more often than this is not followed.
_MOST = 50


class PythonTexts(ScriptWalk):
    """A walk that knows safe forms and code in texts."""

    def __init__(self, marks: PythonMarks, notes: ProgramNotes, language: Language) -> None:
        self.marks = marks
        self.in_pattern = False
        #: What is taken out already.
        self.taken: set[tuple[int, int]] = set()
        names = (node for node in marks.nodes if node.kind == "name" and not node.stored)
        self._loads = Counter(node.value for node in names)
        self._simple = {
            node.parts[0].value: node.parts[1]
            for node in marks.nodes
            if is_assignment(node) and node.parts[0].kind == "name"
        }
        super().__init__(marks, notes, language)

    # ------------------------------------------------------------ safe calls

    def wrapped(self, node: Node) -> str | None:
        """The safe call for an expression, as text; for a name, the name itself."""
        if node.kind == "name":
            return node.value if self._held(node) is not None else None
        if node.kind != "call":
            return None
        function, *inputs = node.parts
        full = self.marks.resolved(function)
        if full and all("around" in self.marks.policy.rule(name).traits for name in full):
            # What `round` and `str` are put around.
            plain = bool(inputs) and not any(node.names) and all(map(self.marks.clean, inputs[1:]))
            return self.wrapped(inputs[0]) if plain and inputs[0].kind != "name" else None
        rules = self.marks.rules(function)
        safe = {rule.safe for rule in rules if rule.action is Action.WRAPPED}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        name, text = safe.pop(), self.notes.text
        if node.formatted is not None:  # whose place in a formatted text is not known
            assert isinstance(node.formatted, ast.Call)
            call = node.formatted
            before = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            inner = ", ".join(map(ast.unparse, [*call.args, *call.keywords]))
        else:
            inner = text[function.end : node.end].strip()
            before = text[node.start : function.end].removesuffix(word_of(function)).rstrip()
            if not inner.startswith("(") or "#" in inner or "#" in before:
                return None
            before, inner = before.removesuffix(".").rstrip(), inner[1:-1].strip()
        if not full and not is_part(function):
            return None
        which = repr(word_of(function)) if name == "statistic" else ""
        parts = [inner] if full else [before, which, inner]
        return f"fdz_safe.{name}({', '.join(filter(None, parts))})"

    def split(self, node: Node) -> tuple[str, list[Node]] | None:
        """The parts of a formatted text as arguments of `print`, with names whose values change.

        None if a part of it has no safe form.
        """
        if node.kind != "format":
            return None
        parts: list[str] = []
        held: list[Node] = []
        for value in node.parts:
            inner = value.parts[0] if value.kind == "formatted" else None
            if inner is None or self.marks.clean(value):
                parts.append(ast.unparse(ast.JoinedStr(values=[value.formatted])))  # type: ignore[list-item]
            elif (safe := self.wrapped(inner)) is not None:
                parts.append(safe)
                held += [inner] if inner.kind == "name" else []
            else:
                return None
        return ", ".join(parts), held

    def _held(self, node: Node) -> Node | None:
        """What a name holds, if it is bound once and used nowhere but here."""
        value = self._simple.get(node.value)
        once = len(self.marks.values.get(node.value, ())) == 1 and self._loads[node.value] == 1
        if value is None or not once or value.kind == "name":
            return None
        return value if self.wrapped(value) is not None else None

    def put_safe(self, node: Node, text: str) -> None:
        """Note the edit that puts a safe call in place of an expression."""
        if node.kind == "name":
            held = self._held(node)
            assert held is not None
            node, text = held, self.wrapped(held) or ""
        name = text.partition("fdz_safe.")[2].partition("(")[0]
        self.wrap(node.span, text, name)

    # ------------------------------------------------------------ what is noted

    def withhold(self, node: Node, rule: str, what: str, kind: str = "") -> None:
        """Put a text without figures in place of a message."""
        self.notes.find(rule, Severity.REFUSED, f"{rule}: {what}", node.span)
        text = f'{kind}("{self.wording}")' if kind else f'"{self.wording}"'
        self.notes.replace(node.span, text, rule, rule, Action.REFUSED, what)

    def refuse(self, node: Node, rule: str, name: str, what: str, hint: str = "") -> None:
        """Take a whole statement out, or put an error in place of a part of one."""
        self.notes.find(rule, Severity.REFUSED, f"{name}: {what}", node.span, hint)
        whole = self.statement.kind in ("shown", "import", "from", "delete")
        # What is assigned to or matched cannot be a call, so the whole statement goes.
        whole = whole or node is self.statement or node.stored or self.in_pattern
        span = self.statement.span if whole else node.span
        if span in self.taken:
            return
        self.taken.add(span)
        after = f"fdz_safe.refused({name!r})"
        if whole:
            after = "pass"
            if self.notes.last_on_line(span[1]):
                after = f"pass  # {self.wording}: {comment_words(self.notes.text[slice(*span)])}"
        self.notes.replace(span, after, rule, name, Action.REFUSED, what)

    # ------------------------------------------------------------ texts that are run

    def judge_texts(self, node: Node) -> None:
        """Judge the texts that a call runs, if it runs any."""
        if self.marks.does(node.parts[0], "code"):
            for inputs in self._inputs(node, ("expr", "formula", "formula_like")):
                for item in self._readable(inputs):
                    text = None if item is None else self._code_of(item)
                    if text is None:
                        message = "code in a text that cannot be read from the program"
                        self.review(node, "text", message)
                    else:
                        self._judge_text(node, text)
        if self.marks.does(node.parts[0], "runs"):
            for inputs in self._inputs(node, ("func", "aggfunc")):
                self._judge_named(node, inputs)

    @staticmethod
    def _inputs(node: Node, keys: tuple[str, ...]) -> Iterator[Node]:
        """The argument that counts: the first, or one by its name."""
        word, named = word_of(node.parts[0]), [pair for pair in arguments(node) if pair[0]]
        if node.names[:1] == [None] and word not in ("pivot_table", "crosstab"):
            yield node.parts[1]
        for name, value in named:
            if name == "**" or name in keys:
                yield value
            elif word in ("agg", "aggregate"):
                if value.kind == "holder" and len(value.parts) == 2:
                    yield value.parts[1]
                elif value.kind in ("string", "number") and name != "axis":
                    yield value

    def _readable(self, node: Node, depth: int = 0) -> Iterator[Node | None]:
        """What an expression may be, by the names it is bound to; None where it is not known."""
        if node.kind == "name" and not self.marks.resolved(node):
            values = self.marks.values.get(node.value, [])
            if node.value in self.marks.own and not values:
                yield node
            elif not values or depth > _DEEPEST or len(values) > _MOST or None in values:
                yield None
            else:
                for item in values:
                    yield from self._readable(item or node, depth + 1)
        elif node.kind in ("holder", "dict", "if", "comprehension"):
            first = {"dict": slice(1, None, 2), "holder": slice(None), "comprehension": slice(2, 3)}
            for item in node.parts[first.get(node.kind, slice(1, None))]:
                yield from self._readable(item, depth)
        else:
            yield node

    def _judge_named(self, node: Node, inputs: Node) -> None:
        for item in self._readable(inputs):
            text = None if item is None else text_of(item)
            if text is not None:
                rule = self.marks.policy.rule(f".{text}")
                if rule.action is Action.REFUSED or rule.role == "shows":
                    self.refuse(node, "text", rule.name, rule.reason)
                elif not rule.known:
                    self.review(node, "text", f"no rule for the function that a text names: {text}")
            elif item is None or not self._is_function(item):
                self.review(node, "text", "which function runs cannot be read from the program")

    def _is_function(self, node: Node) -> bool:
        if is_part(node):
            rules = self.marks.rules(node)
            known = bool(rules) and all(rule.known for rule in rules)
            free = not (self.marks.resolved(node) or self.marks.clean(node))
            return known or word_of(node) in self.marks.methods or free
        if node.kind == "call":
            full = self.marks.resolved(node.parts[0])
            return bool(full) and full <= {"functools.partial"}
        return node.kind in ("function", "name", "number")

    def _code_of(self, node: Node, depth: int = 0) -> str | None:
        """Code that is written out, perhaps in parts; None where a part cannot be read."""
        if node.kind in ("string", "number"):
            return node.value
        if depth > _DEEPEST:
            return None
        parts: list[Node | None] = []
        joint = ""
        if node.kind in ("format", "formatted") or (node.kind, node.value) == ("binary", "+"):
            parts = [*node.parts[: 1 if node.kind == "formatted" else None]]
        elif node.kind in ("name", "holder", "comprehension"):
            joint, parts = " ", list(self._readable(node))
            parts = [None] if parts == [node] else parts
        elif node.kind == "call" and word_of(node.parts[0]) == "join" and is_part(node.parts[0]):
            # Texts that are joined: what stands between them keeps names apart.
            between = text_of(node.parts[0].parts[0])
            if between is not None and len(node.parts) == 2:
                joint, parts = between, list(self._readable(node.parts[1]))
        texts = [None if part is None else self._code_of(part, depth + 1) for part in parts]
        return None if not texts or None in texts else joint.join(map(str, texts))

    def _judge_text(self, node: Node, text: str) -> None:
        text = _QUOTED.sub("x", text)
        if _HIDDEN.search(text):
            self.review(node, "text", "code in a text calls a function that no name identifies")
        for match in _CALLED.finditer(text):
            word = match.group(1).replace("@", "")
            parts = word.split(".")
            numpy = parts[0] not in self.marks.bound or parts[0] in self.marks.aliases
            plain = self.marks.policy.words["formulas"]
            if word in plain or (numpy and parts[0] in ("np", "numpy") and parts[-1] in plain):
                continue
            self._judge_word_of_text(node, word)

    def _judge_word_of_text(self, node: Node, word: str) -> None:
        try:
            function = read_python(word.strip(".")).parts[0].parts[0]
        except (SyntaxError, IndexError):
            self.review(node, "text", "code in a text calls a function that no name identifies")
            return
        rules = self.marks.rules(function)
        if word.startswith("."):
            rules = [self.marks.policy.rule(f".{word.rpartition('.')[2]}")]
        worst = max(rules, key=lambda rule: rule.action.rank, default=None)
        if worst is None or self.marks.is_own(function):
            self.review(node, "text", "code in a text calls a function of this script")
        elif worst.action is Action.REFUSED or any(rule.role == "shows" for rule in rules):
            self.refuse(node, "text", worst.name, worst.reason)
        elif worst.action is Action.REVIEW:
            self.review(node, "text", f"no rule for a function that a text calls: {worst.name}")

    def judge_template(self, node: Node) -> None:
        """Templates that reach into a result: ``"{0.evidence}".format(result)``."""
        text = text_of(node)
        if text is not None and _EVIDENCE.search(text):
            self.refuse(node, "text", "evidence", "true values stay inside the centre")
