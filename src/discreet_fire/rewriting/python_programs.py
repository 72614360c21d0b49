"""Scripts in Python rewritten: safe calls for what would be shown, comments for what may not run.

In: the tree of a script and a policy. Out: edits and findings. For each expression the full names
are known that it may be (``pd.crosstab`` is ``pandas.crosstab``) with their rules. What is refused
takes a whole statement out, or puts an error in place of a part of one.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator

from discreet_fire.catalogue import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.rewriting.r_programs import ScriptProgram
from discreet_fire.scripts import Binding, Node, code_of, read_python

_SAFE = "discreet_fire.statistics"
_RUNTIME = "import discreet_fire.scripts.runtime as fdz_safe"
_SHOWN_HINT = "use a safe function (describe, value_counts, crosstab, corr, summary of a model)"
_CELL = re.compile(r"^[ \t]*#[ \t]*(?:%%|In\[|<(?:code)?cell>|COMMAND -)", re.MULTILINE)
_BUILTINS = frozenset(dir(builtins))
_OF_FILE = ("__name__", "__file__")


class _PythonProgram(ScriptProgram):
    r"""Judges one script in Python.

    >>> done = rewrite_python("import pandas as pd\ndf = pd.read_csv('a')\nprint(df.describe())\n")
    >>> print(done.text.splitlines()[-1])
    print(fdz_safe.describe(df))
    >>> print(rewrite_python("df.to_csv('a')").text)
    pass  # FDZ: not permitted in remote execution: df.to_csv('a')
    """

    kind = "python"

    def judge(self) -> None:
        tree = read_python(code_of(self.text, self.parts))
        self.begin(tree)
        #: Whether a bare expression is shown, as in notebooks.
        self.autoshow = self.parts is not None or bool(_CELL.search(self.text))
        classes = [node for node in self.nodes if node.kind == "class"]
        #: Functions and classes of the script.
        self.own = {node.value for node in self.nodes if node.kind in ("define", "class")}
        self.methods = {method.value for node in classes for method in node.methods()}
        #: What imports call modules and their parts.
        self.aliases: dict[str, set[str]] = {}
        for node in self.nodes:
            for one in node.parts if node.kind in ("import", "from") else ():
                root = one.value.partition(".")[0]
                name, full = one.names[0] or root, one.value if one.names[0] else root
                if node.kind == "from":
                    dots = node.value if not node.value.strip(".") else f"{node.value}."
                    name, full = one.names[0] or one.value, f"{dots}{one.value}"
                self.aliases.setdefault(name, set()).add(full)
        self.bound = {*self.values, *self.aliases, *self.own}
        self._given = {*self.own, *(name for name, _, whole in self.bindings if whole)}
        #: What is taken out already.
        self.taken: set[tuple[int, int]] = set()
        names = (node for node in self.nodes if node.kind == "name" and not node.stored)
        self._loads = Counter(node.value for node in names)
        self._simple = {
            node.parts[0].value: node.parts[1]
            for node in self.nodes
            if node.is_assignment and node.parts[0].kind == "name"
        }
        self.depth = 0  # of functions
        self.settle()
        for node in self.nodes:
            named = {*node.names} if node.kind in ("alias", "function") else {node.value}
            if "fdz_safe" in named and node.kind != "string":
                message = "the name fdz_safe belongs to the safe functions"
                self.find("own-name", Severity.ERROR, message, node.span)
        self.visit(tree)
        if any("fdz_safe" in edit.after for edit in self.edits):
            self._insert_import()

    def _insert_import(self) -> None:
        """Load the safe functions behind the docstring and imports from the future."""
        first = self.tree.parts[0]
        for position, first in enumerate(self.tree.parts):
            is_text = first.kind == "shown" and first.parts[0].kind in ("string", "number")
            future = (first.kind, first.value) == ("from", "__future__")
            if not (future or (position == 0 and is_text)):
                break
        decorated = first.kind == "define" and len(first.parts) > 1
        decorated = decorated or (first.kind == "class" and first.names[0] == "@")
        start = first.start
        if decorated:
            line, _ = self.lines.place(first.parts[0].start)
            start = self.lines.starts[line - 1]
        self.load_safe_functions(start, _RUNTIME, "fdz_safe")

    def _bound_by(self, node: Node) -> Iterator[Binding]:
        yield from node.bindings()
        if node.kind == "class":  # what it holds is not followed
            yield node.value, None, False
        function = node.parts[0] if node.kind == "call" else node
        method = self.policy.rule(f".{function.word}")
        if node.kind == "call" and function.is_part and method.role == "acts":
            # What is put into an object by its methods.
            for name in function.parts[0].roots:
                yield from ((name, value, False) for value in node.parts[1:])

    # ------------------------------------------------------------ names and rules

    def resolved(self, node: Node) -> frozenset[str]:
        """The full names that an expression may stand for; none if it is no plain name."""
        if node.kind == "name":
            names = set(self.aliases.get(node.value, ()))
            if node.value == "__builtins__":
                return frozenset({"builtins"})
            if node.value in _BUILTINS:
                names.add(f"builtins.{node.value}")
            elif node.value not in self.bound:
                names.add(node.value)
            return frozenset(names)
        if node.kind == "if" or node.value in ("and", "or", "<-"):
            parts = node.parts[1 if node.kind == "if" or node.value == "<-" else 0 :]
            return frozenset[str]().union(*map(self.resolved, parts))
        if node.kind == "call" and "logging.getLogger" in self.resolved(node.parts[0]):
            return frozenset({"logging.Logger"})
        if not node.is_part:
            return frozenset()
        return frozenset(f"{base}.{node.parts[1].value}" for base in self.resolved(node.parts[0]))

    def rules(self, function: Node) -> list[CommandRule]:
        """The rules on a function or value, by its full names or as a method of anything."""
        rules = [rule for name in sorted(self.resolved(function)) for rule in self.of_name(name)]
        if function.is_part:
            method = self.policy.rule(f".{function.parts[1].value}")
            known = [rule for rule in rules if rule.known]
            # A function of a module that a rule names as such; otherwise the method counts too.
            exact = [rule for rule in known if not rule.name.endswith(".*")]
            if exact:
                return exact
            if method.known and (not known or method.action is not Action.ALLOWED):
                return [*known, method]
            rules = rules or [method]
        return rules

    def of_name(self, name: str) -> list[CommandRule]:
        """The rules on a full name; within a whole module what a method of that name may not do
        counts too.
        """
        rule = self.policy.rule(name)
        method = self.policy.rule(f".{name.rpartition('.')[2]}")
        forbidden = method.action is Action.REFUSED or (method.known and method.role == "shows")
        return [rule, method] if rule.name.endswith(".*") and forbidden else [rule]

    def is_own(self, function: Node) -> bool:
        if function.kind == "name":
            return function.value in self.own and not self.resolved(function)
        return function.is_part and function.parts[1].value in self.methods

    def is_safe(self, node: Node) -> bool:
        """Whether an expression is a call of a safe function."""
        if node.kind != "call":
            return False
        names = self.resolved(node.parts[0])
        ours = all(name.startswith(f"{_SAFE}.") for name in names)
        clean = bool(names) and ours and all(_gives_clean(self.policy.rule(one)) for one in names)
        return clean and not self._rebound(node.parts[0])

    def _rebound(self, node: Node) -> bool:
        """Whether the script gives the name of a module to something else."""
        return node.base.value in self._given

    # ------------------------------------------------------------ what tells nothing

    def _clean_name(self, node: Node) -> bool:
        if alias := self.aliases.get(node.value):
            return all(map(self._is_clean, alias))
        return node.value in self.bound or node.value in _BUILTINS or node.value in _OF_FILE

    def _is_clean(self, name: str) -> bool:
        return all(map(_gives_clean, self.of_name(name)))

    def _clean_part(self, node: Node) -> bool:
        if full := self.resolved(node):
            return all(map(self._is_clean, full))
        return self.clean(node.parts[0])

    def _clean_call(self, node: Node) -> bool:
        function, *inputs = node.parts
        if self.is_safe(node):
            return True
        if not all(map(self.clean, inputs)):
            return False
        if self.is_own(function):
            return False
        if full := self.resolved(function):
            return all(map(self._is_clean, full)) and not self._rebound(function)
        rule = self.policy.rule(f".{function.word}")
        method = function.is_part and rule.known and rule.action is not Action.REFUSED
        return method and self.clean(function.parts[0])

    # ------------------------------------------------------------ statements

    def _see_shown(self, node: Node) -> None:
        """A bare expression, which notebooks show."""
        value = node.parts[0]
        self.visit(value)
        if self.clean(value) or self.depth:
            return
        if value.kind == "call" and self._says_nothing(value.parts[0]):
            return
        safe = self.wrapped(value)
        if safe is not None and (self.autoshow or value.kind == "call"):
            self.put_safe(value, f"print({safe})")
        elif self.autoshow:
            message = "a bare expression shows what derives from data"
            self.refuse(node, "shown", "expression", message)
        else:
            message = "a bare expression on data; a notebook would show it"
            self.find("bare", Severity.INFO, message, node.span)

    def _says_nothing(self, function: Node) -> bool:
        rules = self.rules(function)
        quiet = all(rule.role in ("acts", "shows") for rule in rules if rule.known)
        return (
            function.word == "info"
            or self.is_own(function)
            or (bool(rules) and quiet)
            or any(rule.action in (Action.REFUSED, Action.REVIEW) for rule in rules)
        )

    # ------------------------------------------------------------ definitions

    def _see_define(self, node: Node) -> None:
        """The body is read as code that any data may reach."""
        self.depth += 1
        self.see_parts(node)
        self.depth -= 1

    def _see_import(self, node: Node) -> None:
        for one in node.parts:
            self._judge_module(node, one.value)

    def _see_from(self, node: Node) -> None:
        for one in node.parts:
            if one.value == "*":
                message = "a star import hides which names there are"
                self.refuse(node, "import", node.value, message)
            else:
                self._judge_module(node, node.value, one.value)

    def _judge_module(self, node: Node, module: str, name: str = "*") -> None:
        whole = module if name == "*" else f"{module}.{name}"
        rule = self.policy.rule(f"{module}.{name}")
        if module.startswith("discreet") and _SAFE not in (whole, module):
            self.refuse(node, "import", module, "only discreet_fire.statistics may be used")
        elif rule.action is Action.REFUSED and module != "builtins":
            self.refuse(node, "import", whole, rule.reason)
        elif not (rule.known or module.startswith("discreet")) and not any(
            known.startswith(f"{module}.") for known in self.policy.rules
        ):
            hint = "submit its source, or add a rule for it"
            message = f"no rule for the module {module}; what it does is not known"
            self.review(node, "import", message, hint)

    # ------------------------------------------------------------ calls

    def _see_call(self, node: Node) -> None:
        function = node.parts[0]
        if function.kind == "name" and function.value == "getattr":
            message = "takes an attribute whose name cannot be read from the program"
            self.refuse(node, "getattr", "getattr", message)
        # Safe functions keep to the rules of the centre.
        if self.is_safe(node) and any(name in ("**", "limits") for name in node.names):
            message = "the rules are those of the centre, and options are written out"
            self.refuse(node, "limits", "limits", message)
        super()._see_call(node)

    def _judge(
        self, node: Node, inputs: list[Node], rules: list[CommandRule], worst: CommandRule
    ) -> None:
        name = worst.name
        if worst.action is Action.REFUSED:
            self.refuse(node, "call", name, worst.reason)
        elif any(rule.role == "shows" for rule in rules) or (name == ".info" and inputs):
            self._judge_shown(node, inputs, name)
        elif worst.action is Action.REVIEW:
            message = worst.reason if worst.known else f"no rule for {name}; it may show anything"
            self.review(node, "call", f"{name}: {message}" if worst.known else message)
        elif any(rule.safe in ("histogram", "info") for rule in rules):
            safe = self.wrapped(node)
            if safe is None:
                self.refuse(node, "call", name, worst.reason)
            else:
                self.put_safe(node, f"print({safe})")

    def _judge_shown(self, node: Node, inputs: list[Node], name: str) -> None:
        wraps: list[tuple[Node, str]] = []
        for item in inputs:
            if self.clean(item):
                continue
            parts = self.split(item) if name == "builtins.print" else None
            if parts is not None:
                wraps += [(item, parts[0]), *((held, held.value) for held in parts[1])]
                continue
            safe = self.wrapped(item)
            if safe is None:
                message = "shows what derives from data, or may"
                self.refuse(node, "shown", name, message, hint=_SHOWN_HINT)
                return
            wraps.append((item, safe))
        for item, safe in wraps:
            self.put_safe(item, safe)

    # ------------------------------------------------------------ safe calls

    def wrapped(self, node: Node) -> str | None:
        """The safe call for an expression, as text; for a name, the name itself."""
        if node.kind == "name":
            return node.value if self._held(node) is not None else None
        if node.kind != "call":
            return None
        function, *inputs = node.parts
        full = self.resolved(function)
        if full and all("around" in self.policy.rule(name).traits for name in full):
            # What `round` and `str` are put around.
            plain = bool(inputs) and not any(node.names) and all(map(self.clean, inputs[1:]))
            return self.wrapped(inputs[0]) if plain and inputs[0].kind != "name" else None
        rules = self.rules(function)
        safe = {rule.safe for rule in rules if rule.action is Action.WRAPPED}
        if len(safe) != 1 or any(rule.action is not Action.WRAPPED for rule in rules):
            return None
        name, text = safe.pop(), self.text
        if node.formatted is not None:  # whose place in a formatted text is not known
            assert isinstance(node.formatted, ast.Call)
            call = node.formatted
            before = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            inner = ", ".join(map(ast.unparse, [*call.args, *call.keywords]))
        else:
            inner = text[function.end : node.end].strip()
            before = text[node.start : function.end].removesuffix(function.word).rstrip()
            if not inner.startswith("(") or "#" in inner or "#" in before:
                return None
            before, inner = before.removesuffix(".").rstrip(), inner[1:-1].strip()
        if not full and not function.is_part:
            return None
        which = repr(function.word) if name == "statistic" else ""
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
            if inner is None or self.clean(value):
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
        once = len(self.values.get(node.value, ())) == 1 and self._loads[node.value] == 1
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

    def refuse(self, node: Node, rule: str, name: str, what: str, hint: str = "") -> None:
        """Take a whole statement out, or put an error in place of a part of one."""
        self.find(rule, Severity.REFUSED, f"{name}: {what}", node.span, hint)
        whole = self.statement.kind in ("shown", "import", "from", "delete")
        # What is assigned to or matched cannot be a call, so the whole statement goes.
        whole = whole or node is self.statement or node.stored
        span = self.statement.span if whole else node.span
        if span in self.taken:
            return
        self.taken.add(span)
        after = self.commented("pass", span) if whole else f"fdz_safe.refused({name!r})"
        self.replace(span, after, rule, name, Action.REFUSED, what)


def _gives_clean(rule: CommandRule) -> bool:
    return rule.known and rule.action is Action.ALLOWED and rule.role == "clean"


rewrite_python = _PythonProgram.rewrite
