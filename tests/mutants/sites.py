# SPDX-License-Identifier: Apache-2.0
"""Finds the places of models/ where one change makes a mutant: libclang reads the sources of each room."""

import hashlib
import json
import re
import shlex
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

# Each operator has one counterpart, the one that is most easily mistaken for it.
COUNTERPARTS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
    "*": "/", "/": "*", "%": "/", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "|": "&",
    "&": "|", "<<": ">>", ">>": "<<", "++": "--", "--": "++",
}
# Where a bool is expected anything else is an error of the compiler, which is seen when all mutants are compiled.
PLAIN = re.compile(r"(unsigned |signed )?(char|short|int|long|long long)|float|double")
LITERAL = re.compile(r"(0[xX][0-9a-fA-F']+|0|[1-9][0-9']*)[uUlLzZ]*")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
BATCH = 8  # sources that are read at once, as cmake/Toolchain.cmake compiles them


# Rooms within these folders have test programs with a prefix: test_nic_exanest is of models/nic/exanest.
PREFIXES = {"nic": "nic", "drivers": "driver"}


def program_of(folder):
    """What the test program of a folder of models/ is called."""
    first, *rest = folder.parts
    return f"{PREFIXES[first]}_{rest[0]}" if first in PREFIXES and rest else first


@dataclass
class Site:
    """One possible mutant. `parts` is what replaces [begin, end): texts, and ranges of the source itself. A range is
    [begin, end, flat]; a flat one is a second copy on one line, so that no line of the file moves. "@" in a text is
    the condition that the mutant is the chosen one."""
    file: str
    begin: int
    end: int
    line: int
    kind: str
    function: str
    before: str
    after: str
    parts: list = field(default_factory=list)

    @property
    def room(self):
        """As its test program is called."""
        return program_of(Path(self.file).parent.relative_to("models"))

    def key(self):
        """Says which mutant it is without its line, so that lines may move."""
        return (self.file, self.function, self.before, self.after)

    def digest(self):
        return hashlib.sha256("|".join([*self.key(), str(self.begin)]).encode()).digest()


def one_line(text):
    """The text without comments and line ends."""
    return re.sub(r"\s+", " ", COMMENT.sub(" ", text)).strip()


def shorten(text, limit=100):
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 3] + "..."


class Finder:
    """Collects the sites of the files below one folder from what libclang has read."""

    def __init__(self, tree, folder):
        from clang.cindex import CursorKind, StorageClass, TLSKind
        self.kinds, self.storage, self.not_of_thread = CursorKind, StorageClass, TLSKind.NONE
        self.tree, self.folder = tree, folder
        self.texts, self.sites = {}, {}

    def text_of(self, file):
        if file not in self.texts:
            # libclang counts bytes; the texts are found by them, too.
            self.texts[file] = (self.tree / file).read_bytes().decode("latin-1")
        return self.texts[file]

    def visit_unit(self, unit):
        for cursor in unit.cursor.get_children():
            place = cursor.location.file
            if place is None:
                continue
            file = place.name
            if file.startswith(str(self.tree) + "/"):
                file = file[len(str(self.tree)) + 1:]
            if file.startswith(self.folder + "/"):
                self.file, self.text = file, self.text_of(file)
                self.whole = (0, 0)
                self.visit(cursor, None, "", None)

    def is_static(self, cursor):
        """A variable of a namespace, a class, the program or a thread: any that a function does not make anew."""
        k = self.kinds
        functions = (k.FUNCTION_DECL, k.FUNCTION_TEMPLATE, k.CXX_METHOD, k.CONSTRUCTOR, k.DESTRUCTOR,
                     k.CONVERSION_FUNCTION)
        # The instance of a variable template has no kind of its own, but a storage class.
        if cursor.kind not in (k.VAR_DECL, k.UNEXPOSED_DECL) or cursor.storage_class == self.storage.INVALID:
            return False
        return (cursor.semantic_parent.kind not in functions or cursor.tls_kind != self.not_of_thread or
                cursor.storage_class == self.storage.STATIC)

    # What has no run time, no behaviour, or only the text of an error.
    def skipped(self, cursor, source):
        k = self.kinds
        if cursor.kind in (k.STATIC_ASSERT, k.ENUM_DECL, k.CXX_THROW_EXPR, k.DECL_REF_EXPR, k.TYPE_ALIAS_DECL,
                           k.TYPEDEF_DECL, k.TYPE_ALIAS_TEMPLATE_DECL, k.USING_DECLARATION, k.CONCEPT_DECL
                           if hasattr(k, "CONCEPT_DECL") else k.STATIC_ASSERT):
            return True
        if cursor.kind.is_attribute():
            return True
        if self.is_static(cursor):
            return True  # its first value is a constant
        if cursor.kind in (k.VAR_DECL, k.FIELD_DECL):
            default = cursor.kind == k.FIELD_DECL and self.file.endswith("config.hpp")  # of a parameter: data
            return "constexpr" in source.split("=")[0].split() or cursor.is_bitfield() or default
        if cursor.kind == k.CALL_EXPR:
            return cursor.spelling in ("format", "print", "format_to", "to_string")
        if cursor.kind in (k.FUNCTION_DECL, k.CXX_METHOD):
            is_compilers = "consteval" in source.split("{")[0].split()  # nothing of it is left at run time
            return is_compilers or cursor.spelling.startswith("declare")  # tables of parameters: ranges and words
        return False

    def visit(self, cursor, parent, function, result):
        extent = cursor.extent
        if extent.start.file is None or extent.start.file.name.endswith(self.file) is False:
            return
        begin, end = extent.start.offset, extent.end.offset
        source = self.text[begin:end]
        if self.skipped(cursor, source):
            return
        k = self.kinds
        if cursor.kind in (k.FUNCTION_DECL, k.CXX_METHOD, k.CONSTRUCTOR, k.DESTRUCTOR, k.FUNCTION_TEMPLATE,
                           k.CONVERSION_FUNCTION):
            owner = cursor.semantic_parent.spelling if cursor.semantic_parent is not None else ""
            is_class = cursor.semantic_parent is not None and cursor.semantic_parent.kind in (
                k.CLASS_DECL, k.STRUCT_DECL, k.CLASS_TEMPLATE)
            function = (owner + "::" if is_class else "") + cursor.spelling
            result = cursor.result_type
        elif cursor.kind == k.LAMBDA_EXPR:
            result = None
        outer = self.whole
        if parent is None or not parent.kind.is_expression():
            self.whole = (begin, end)  # of the expression or declaration that stands by itself
        children = list(cursor.get_children())
        self.look_at(cursor, parent, children, function, result, begin, end, source)
        if cursor.kind in (k.VAR_DECL, k.FIELD_DECL, k.PARM_DECL, k.FUNCTION_DECL, k.CXX_METHOD):
            name = cursor.location.offset  # what stands before it is its type
            children = [c for c in children if c.extent.start.offset >= name]
        if cursor.kind == k.CASE_STMT:
            children = children[1:]
        if cursor.kind == k.MEMBER_REF_EXPR:
            name = cursor.location.offset  # what stands behind it are template arguments
            children = [c for c in children if c.extent.start.offset < name]
        for child in children:
            self.visit(child, cursor, function, result)
        self.whole = outer

    def add(self, begin, end, kind, function, before, after, parts):
        source = self.text[begin:end]
        copies = any(not isinstance(p, str) and p[2] for p in parts)
        if copies and (re.search(r"\bco_(await|yield)\b", self.text[slice(*self.whole)]) or '"' in source):
            return  # beside a co_await g++ 12 evaluates both sides of a conditional expression; texts are no behaviour
        line = self.text.count("\n", 0, begin) + 1
        site = Site(self.file, begin, end, line, kind, function, shorten(before), shorten(after), parts)
        self.sites[(self.file, begin, end, kind)] = site

    def look_at(self, cursor, parent, children, function, result, begin, end, source):
        k = self.kinds
        kind = cursor.kind
        if kind == k.INTEGER_LITERAL:
            self.literal(cursor, parent, function, begin, end, source)
        elif kind in (k.BINARY_OPERATOR, k.COMPOUND_ASSIGNMENT_OPERATOR) or (
                kind in (k.CALL_EXPR, k.UNEXPOSED_EXPR) and len(children) >= 2):
            self.binary(cursor, children, function, begin, end)
        if kind in (k.UNARY_OPERATOR, k.CALL_EXPR):
            self.step(function, begin, end, source)
        if kind == k.CALL_EXPR and cursor.spelling in ("min", "max"):
            self.bound(cursor, function, begin, end, source)
        if kind in (k.IF_STMT, k.WHILE_STMT):
            self.condition(children, function, begin)
        if kind == k.RETURN_STMT or (kind == k.UNEXPOSED_STMT and source.startswith("co_return")):
            self.returns(children, function, result, begin, end, source)
        if parent is not None and parent.kind == k.COMPOUND_STMT:
            self.statement(cursor, function, begin, end, source)
        elif parent is not None and parent.kind in (k.IF_STMT, k.FOR_STMT, k.WHILE_STMT, k.CXX_FOR_RANGE_STMT):
            siblings = list(parent.get_children())
            if cursor in siblings[1:] and self.text[begin - 1:begin] != "(" and self.text[end:end + 1] == ";":
                self.statement(cursor, function, begin, end, source)

    def literal(self, cursor, parent, function, begin, end, source):
        if not LITERAL.fullmatch(source):
            return
        if self.text[begin - 1] == "<" or re.match(r"\s*>", self.text[end:end + 3]) and \
                not re.match(r"\s*>[=>]?\s", self.text[end:end + 5]):
            return  # a template argument
        value = int(source.rstrip("uUlLzZ").replace("'", ""), 0)
        sign = "-" if value > 1 and hashlib.sha256(f"{self.file}{begin}".encode()).digest()[0] % 2 else "+"
        text = f"({source} {sign} @)"
        if parent is not None and parent.kind == self.kinds.UNEXPOSED_EXPR:
            target = parent.type.get_canonical().spelling.removeprefix("const ")
            if PLAIN.fullmatch(target):
                text = f"static_cast<{target}>{text}"
        self.add(begin, end, "bound", function, self.around(begin, end, source),
                 self.around(begin, end, f"({source} {sign} 1)"), [text])

    def around(self, begin, end, middle):
        """The middle with a few characters of its line: a literal alone does not say which one it is."""
        start = max(self.text.rfind("\n", 0, begin) + 1, begin - 24)
        stop = self.text.find("\n", end)
        return self.text[start:begin] + middle + self.text[end:min(stop, end + 12)]

    def binary(self, cursor, children, function, begin, end):
        operands = [c for c in children if c.extent.start.offset != c.extent.end.offset]
        operands = [c for c in operands if self.text[c.extent.start.offset:c.extent.end.offset] not in COUNTERPARTS]
        if len(operands) != 2:
            return
        left, right = operands
        l0, l1 = left.extent.start.offset, left.extent.end.offset
        r0, r1 = right.extent.start.offset, right.extent.end.offset
        if l0 != begin or r1 != end or not l0 < l1 <= r0 < r1:
            return
        operator = one_line(self.text[l1:r0])
        if operator not in COUNTERPARTS or operator in ("++", "--"):
            return
        if operator in ("<<", ">>", "&", "|", "+", "-", "%") and "string" in left.type.get_canonical().spelling:
            return
        other = COUNTERPARTS[operator]
        self.add(begin, end, "operator", function, self.text[begin:end],
                 f"{self.text[l0:l1]} {other} {self.text[r0:r1]}",
                 ["(@ ? (", [l0, l1, True], f" {other} ", [r0, r1, True], ") : (", [l0, r1, False], "))"])

    def step(self, function, begin, end, source):
        for operator in ("++", "--"):
            if source.startswith(operator):
                inner, form = [begin + 2, end, True], COUNTERPARTS[operator] + "{}"
            elif source.endswith(operator):
                inner, form = [begin, end - 2, True], "{}" + COUNTERPARTS[operator]
            else:
                continue
            if "(" in self.text[inner[0]:inner[1]] and "->" not in source and ")." not in source and "]" not in source:
                continue
            first, last = form.split("{}")
            self.add(begin, end, "operator", function, source, form.format(self.text[inner[0]:inner[1]]),
                     [f"(@ ? {first}", inner, f"{last} : ", [begin, end, False], ")"])

    def bound(self, cursor, function, begin, end, source):
        name = cursor.spelling
        other = "max" if name == "min" else "min"
        found = re.match(r"std::(min|max)\b", source)
        if found is None or len(list(cursor.get_arguments())) != 2:
            return
        self.add(begin, end, "bound", function, source, source.replace(name, other, 1),
                 [f"(@ ? std::{other}", [begin + found.end(), end, True], " : ", [begin, end, False], ")"])

    def condition(self, children, function, begin):
        if re.match(r"if\s+constexpr", self.text[begin:begin + 20]):
            return
        k = self.kinds
        conditions = [c for c in children[:2] if c.kind.is_expression()]
        if not conditions or (children[0].kind == k.VAR_DECL):
            return
        c0, c1 = conditions[0].extent.start.offset, conditions[0].extent.end.offset
        before = self.text[:c0].rstrip()
        if not before or before[-1] not in "(;" or self.text[c1:].lstrip()[:1] != ")":
            return
        self.add(c0, c1, "condition", function, self.text[c0:c1], f"!({self.text[c0:c1]})",
                 ["(@ != static_cast<bool>(", [c0, c1, False], "))"])

    def returns(self, children, function, result, begin, end, source):
        word = "co_return" if source.startswith("co_return") else "return"
        if not children:
            if source.strip() == word:
                self.add(begin, end, "return", function, word, "no " + word, ["if (@) {} else ", word])
            return
        value = children[-1] if word == "return" else children[0]
        v0, v1 = value.extent.start.offset, value.extent.end.offset
        if v0 < begin + len(word) or v1 > end:
            return
        text = self.text[v0:v1]
        if value.type.get_canonical().spelling in ("bool", "const bool"):
            negated = {"true": "false", "false": "true"}.get(text, f"!({text})")
            self.add(v0, v1, "return", function, f"{word} {text}", f"{word} {negated}",
                     ["(@ != static_cast<bool>(", [v0, v1, False], "))"])
            return
        if result is None or text.startswith("{") or text in ("0", "nullptr", "std::nullopt"):
            return
        target = result.get_canonical().spelling
        task = re.search(r"\bTask<(.*)>$", target)
        if word == "co_return":
            if task is None:
                return
            target = task.group(1).strip()
        if re.fullmatch(r"(unsigned |signed )?(char|short|int|long|long long)|.*\*|std::optional<.*>|"
                        r"std::chrono::duration<.*>|double", target):
            self.add(begin, end, "return", function, f"{word} {text}", f"{word} {{}}",
                     ["if (@) " + word + " {}; else ", [begin, end, False]])

    def statement(self, cursor, function, begin, end, source):
        k = self.kinds
        if self.text[end:end + 1] != ";" or not source.endswith(")"):
            return
        if source.startswith("co_await ") and cursor.kind.is_expression():
            self.add(begin, end, "call", function, source, "no " + source, ["if (!@) ", [begin, end, False]])
        elif cursor.kind in (k.CALL_EXPR, k.UNEXPOSED_EXPR) and re.match(r"[\w:>.\-\[\]()*&]+\(", source) and \
                not cursor.spelling.startswith("operator") and "co_await" not in source:
            self.add(begin, end, "call", function, source, "no " + source,
                     ["(@ ? void() : static_cast<void>(", [begin, end, False], "))"])


def compiler_arguments():
    """As cmake/Toolchain.cmake compiles, as far as it decides what a source means."""
    flags = subprocess.run(["pkg-config", "--cflags", "systemc"], check=True, capture_output=True, text=True).stdout
    return ["-std=c++20", "-DSC_CPLUSPLUS=201703L", "-DSC_INCLUDE_DYNAMIC_PROCESSES", "-Wno-everything",
            *[f.replace("-I", "-isystem", 1) for f in shlex.split(flags)]]


def room_batches(tree, folder):
    sources = sorted(p.relative_to(tree).as_posix() for p in (tree / folder).rglob("*.cpp"))
    headers = sorted(p.relative_to(tree).as_posix() for p in (tree / folder).rglob("*.hpp"))
    batches = [sources[i:i + BATCH] for i in range(0, len(sources), BATCH)] or [[]]
    batches[0] = headers + batches[0]
    return batches


def parse(tree, files, overlay=()):
    """What libclang makes of the files together; overlay: (path, text) of files that it is to see changed."""
    from clang.cindex import Index
    name = str(tree / "batch.cpp")
    text = "".join(f'#include "{tree}/{f}"\n' for f in files)
    unsaved = [(name, text), *[(str(tree / path), content) for path, content in overlay]]
    return Index.create().parse(name, ["-I", str(tree), *compiler_arguments()], unsaved_files=unsaved)


def find(tree, folders, say=lambda text: None):
    """All sites of the folders, in the order of files and places."""
    sites = []
    for folder in folders:
        finder = Finder(tree, folder)
        for files in room_batches(tree, folder):
            unit = parse(tree, files)
            wrong = [d for d in unit.diagnostics if d.severity >= 3]
            if wrong:
                say(f"warning: libclang on {folder}: {wrong[0]}")
            finder.visit_unit(unit)
        found = sorted(finder.sites.values(), key=lambda s: (s.file, s.begin, -s.end, s.kind))
        say(f"    {folder}: {len(found)} sites")
        sites += found
    return sites


def save(sites, path):
    path.write_text(json.dumps([asdict(s) for s in sites], indent=0))


def load(path):
    return [Site(**s) for s in json.loads(path.read_text())]
