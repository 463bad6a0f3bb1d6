"""What a mutant is: one place in a source file, and what stands there instead.

The text of a file is looked at token by token, not parsed: comments, strings, directives and
declarations of constants are masked. A mutant replaces a whole *region*, the expression or the
statement around the token, so that it can be written as a switch in the source (schemata.py):
    x + 1   ->   (on(17) ? (x - 1) : (x + 1))
"""

import bisect
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str  # from the project's root
    operator: str  # of OPERATORS, or "condition", "statement"
    begin: int  # of the region, in characters
    end: int
    text: str  # what the region becomes
    statement: bool  # the region is a whole statement, with its semicolon
    line: int
    was: str  # the token, and ...
    now: str  # ... what replaces it

    def key(self, source):
        """Names a mutant by its text, so that a ledger outlives changes of other lines."""
        line = source.split("\n")[self.line - 1].strip()
        column = self.begin - source.rfind("\n", 0, self.begin)
        return f"{self.file}|{self.operator}|{line}|{column}|{self.was}|{self.now}"


# Binary operators stand between blanks in this project's format; brackets of templates, pointers
# and references do not.
BINARY = {
    "relation": {
        "<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="],
        "==": ["!="], "!=": ["=="],
    },
    "arithmetic": {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"]},
    "bits": {"<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["|"]},
    "logic": {"&&": ["||"], "||": ["&&"]},
}
ASSIGNMENT = {"+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "|=": "&=", "&=": "|=",
              "<<=": ">>=", ">>=": "<<="}
# What people of the field take for one another.
NAMES = {
    "x": ["y"], "y": ["z"], "z": ["x"], "min": ["max"], "max": ["min"], "lo": ["hi"],
    "hi": ["lo"], "smaller": ["larger"], "larger": ["smaller"], "least": ["greatest"],
    "greatest": ["least"], "source": ["target"], "target": ["source"], "stride": ["dilation"],
    "dilation": ["stride"], "kernel": ["stride"], "begin": ["end"], "end": ["begin"],
    "first": ["last"], "last": ["first"], "floor_div": ["ceil_div"], "ceil_div": ["floor_div"],
    "uppers": ["lowers"], "lowers": ["leaves"], "leaves": ["lowers"], "any": ["full"],
    "first_row": ["rows"], "kLeafLog": ["kLowerLog"], "kLowerLog": ["kUpperLog"],
}
KEYWORDS = ("template", "using", "static_assert", "constexpr", "enum", "typedef", "concept",
            "requires", "friend", "struct", "class", "namespace", "case", "operator")


def masked(source):
    """The same length, with blanks for what is not code."""
    text = re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
        lambda m: re.sub(r"[^\n]", lambda c: "\x01", m.group()), source, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", "\x01", m.group()),
                  text, flags=re.M)
    return text


OPEN, CLOSE = "([{", ")]}"
# What an expression cannot hold at its outermost level.
STOPS = re.compile(r" (?:[-+*/%&|^]|<<|>>)?= | \? | : |\b(?:return|else|delete|throw|do)\b")


def ends_block(code, brace):
    """Whether a closing brace ends a block, and not an initialiser."""
    return code[brace + 1:brace + 2] in ("", "\n", " ", ";") and not re.match(
        r"\} *(?:[-+*/%&|^<>=!?:.]|;)", code[brace:brace + 5])


def bracketed(code, begin, end):
    """From a token outwards, to the brackets, commas or semicolons that hold it."""
    left, depth = begin, 0
    while left > 0:
        c = code[left - 1]
        if c in CLOSE:
            if depth == 0 and c == "}" and ends_block(code, left - 1):
                break
            depth += 1
        elif c in OPEN:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and c in ",;":
            break
        left -= 1
    right, depth = end, 0
    while right < len(code):
        c = code[right]
        if c in OPEN:
            depth += 1
        elif c in CLOSE:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and c in ",;":
            break
        right += 1
    return left, right


def flattened(text):
    """The same length; what is in brackets is blank."""
    out, depth = [], 0
    for c in text:
        if c in CLOSE:
            depth -= 1
        out.append(c if depth <= 0 else "\x02")
        if c in OPEN:
            depth += 1
    return "".join(out)


def trimmed(code, left, right):
    while left < right and code[left] in " \n\x01":
        left += 1
    while right > left and code[right - 1] in " \n\x01":
        right -= 1
    return left, right


def guard_end(code, left, right):
    """Behind `if (...)`, `for (...)`, `else` and labels that a statement begins with."""
    while True:
        left, _ = trimmed(code, left, right)
        head = re.match(r"(?:if constexpr|if|for|while|switch) \(|else\b|(?:public|private):|"
                        r"case [^:;]*:|default:", code[left:right])
        if not head:
            return left
        left += head.end()
        if head.group().endswith("("):
            depth = 1
            while left < right and depth > 0:
                depth += (code[left] in OPEN) - (code[left] in CLOSE)
                left += 1


def expression_of(code, begin, end):
    """The expression around the token [begin, end); None where it has none of its own."""
    left, right = bracketed(code, begin, end)
    left = guard_end(code, left, begin)
    first, last = left, right
    for stop in STOPS.finditer(flattened(code[left:right])):
        if left + stop.end() <= begin:
            first = left + stop.end()
        elif left + stop.start() >= end:
            if stop.group().endswith("= "):
                return None  # what is assigned to
            last = left + stop.start()
            break
        else:
            return None
    first, last = trimmed(code, first, last)
    # A declaration without an assignment is no expression.
    declares = re.match(r"(?:const|auto|static|unsigned|int|bool|double)\b|"
                        r"[\w:]+(?:<[\w:, ]*>)?[&*]* &?[a-z_]\w*(?:$| =|\()", code[first:last])
    return None if declares else (first, last)


def statement_of(code, begin, end):
    """The statement that ends with the next semicolon; None where it is no simple one."""
    left, depth = begin, 0
    while left > 0:
        c = code[left - 1]
        if c in CLOSE:
            if depth == 0 and c == "}" and ends_block(code, left - 1):
                break
            depth += 1
        elif c in OPEN:
            if depth == 0:
                if c != "{":
                    return None  # an argument, or a part of a for
                break
            depth -= 1
        elif depth == 0 and c == ";":
            break
        left -= 1
    left = guard_end(code, left, begin)
    flat = flattened(code[left:left + 2000])
    stop = flat.find(";")
    if stop < 0 or left + stop < end:
        return None
    depth = 0
    for c in code[left:left + stop]:
        depth += (c in OPEN) - (c in CLOSE)
        if depth < 0:
            return None  # the last part of a for
    return left, left + stop + 1


# An assignment, a call, a step; `continue` and `break`. No declaration, no return.
SIMPLE = re.compile(r"(?:\*?[\w.]+(?:::|->|\.|\[\x02*|\(\x02*|<\w+>)*[\w\])]* "
                    r"(?:[-+*/|&^]|<<|>>)?= |"
                    r"\*?[\w.:>-]+(?:<\w+>)?\(|\+\+|--|\*\w+\+\+|continue;|break;)")


def mutants_of(file, source):
    """All mutants of a file, in the order of their places."""
    code = masked(source)
    starts = [0]
    for i, c in enumerate(source):
        if c == "\n":
            starts.append(i + 1)

    found = []

    def line_of(at):
        return bisect.bisect_right(starts, at)

    def is_fixed(at):
        """On a line, or in a statement, whose value the compiler must know."""
        line = code[starts[line_of(at) - 1]:code.find("\n", at) if "\n" in code[at:] else None]
        return any(re.search(rf"\b{word}\b", line) for word in KEYWORDS)

    def add(operator, begin, end, now):
        if is_fixed(begin):
            return
        was = source[begin:end]
        place = expression_of(code, begin, end)
        if place:
            left, right = place
            text = source[left:begin] + now + source[end:right]
            found.append(Mutant(file, operator, left, right, text, False, line_of(begin), was, now))

    for operator, table in BINARY.items():
        for m in re.finditer(r"(?<=[\w)\]}\x01] )(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^])(?=[ \n])",
                             code):
            for now in table.get(m.group(), ()):
                add(operator, m.start(), m.end(), now)
    for m in re.finditer(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)(?:u|U)?(?![\w.'])", code):
        number = int(m.group(1), 0)
        suffix = m.group()[len(m.group(1)):]
        for other in (number + 1, number - 1):
            if other >= 0:
                add("constant", m.start(), m.end(), f"{other}{suffix}")
    for m in re.finditer(r"\b(true|false)\b", code):
        add("constant", m.start(), m.end(), "false" if m.group() == "true" else "true")
    for m in re.finditer(r"(?<=[ (!])!(?=[\w(])", code):
        add("logic", m.start(), m.end(), "")
    for m in re.finditer(r"(?<=[ (])~(?=[\w(])", code):
        add("bits", m.start(), m.end(), "")
    for m in re.finditer(r"(?<![\w.>])[A-Za-z_]\w*|(?<=\.|>)[A-Za-z_]\w*", code):
        for now in NAMES.get(m.group(), ()):
            # A name that the lines before know as well.
            near = code[max(0, m.start() - 800):m.start() + 200]
            if re.search(rf"(?<=[.>]){now}\b" if code[m.start() - 1] in ".>" else
                         rf"(?<![.>\w]){now}\b", near):
                add("name", m.start(), m.end(), now)
    # Conditions that always or never hold.
    for m in re.finditer(r"\b(if|while) \(", code):
        left, depth = m.end(), 1
        right = left
        while right < len(code) and depth > 0:
            depth += (code[right] in OPEN) - (code[right] in CLOSE)
            right += 1
        right -= 1
        condition = source[left:right]
        if ";" in condition or re.search(r"(?<![=!<>]) = ", condition):
            continue
        for now in ("true", "false") if m.group(1) == "if" else ("false",):
            found.append(Mutant(file, "condition", left, right, now, False, line_of(left),
                                condition, now))
    # Statements removed, and assignments of another kind.
    for m in re.finditer(r"(?<=[;{})\x01\n ])(?=[\w*+-])", code):
        place = statement_of(code, m.start(), m.start() + 1)
        if not place or place[0] != m.start() or is_fixed(m.start()):
            continue
        left, right = place
        if not SIMPLE.match(flattened(code[left:right])):
            continue
        found.append(Mutant(file, "statement", left, right, ";", True, line_of(left),
                            source[left:right], ""))
        step = re.search(r" (\S*=) ", flattened(code[left:right]))
        if step and step.group(1) in ASSIGNMENT:
            at = left + step.start(1)
            now = ASSIGNMENT[step.group(1)]
            found.append(Mutant(file, "assignment", left, right,
                                source[left:at] + now + source[left + step.end(1):right], True,
                                line_of(at), step.group(1), now))
    found.sort(key=lambda m: (m.begin, m.end, m.operator, m.now))
    return found
