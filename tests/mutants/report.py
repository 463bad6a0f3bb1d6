"""What the ledger says, as docs/mutation-score.md."""

import collections
import json
import textwrap

HEAD = """# Mutants of `gpu/`

Faults that nobody chose: the sources of `gpu/` changed by machine, one place at a time (an
operator, a constant, a name for its neighbour, a condition, a statement left out), and judged as
any builder is. What survives is equivalent, for the reason given below, or asks for a test: those
that nobody has explained yet are listed as such.

```sh
./leafproof mutants             # go on with the ledger, then write this page
./leafproof mutants --seed 7    # other mutants
./leafproof mutants --show      # the survivors alone
```

All mutants of the sample are in one build, each a switch in the source, and the environment says
which is on; each is judged by `verify --level 1 --fail-fast` (without meshes) on the host
executor, then by the tests that its part of the builder has, until one of them fails. The limits
are ten times the CPU seconds of a healthy run, and 12 GiB of addresses.
`tests/mutants/README.md` says how they are made and what is left out.
"""

KINDS = ["verify, host", "tests", "verify, strict", "signal", "no end"]


def reasons(folder):
    """Of survivors that were looked at: {key: {"kind": "equivalent" or "killed", "why": ...}}."""
    path = folder / "reasons.json"
    return json.loads(path.read_text()) if path.exists() else {}


def code(text):
    text = " ".join(text.split())
    return f"``{text}``" if "`" in text else f"`{text}`"


def change(entry):
    if entry["operator"] == "statement":
        return f"without {code(entry['was'])}"
    now = code(entry["now"]) if entry["now"] else "nothing"
    line = entry["key"].split("|", 2)[2].rsplit("|", 3)[0]
    return f"{code(entry['was'])} is {now} in {code(line)}"


def judge(entry):
    """Who killed it; tests are asked only of what passed verify."""
    return next((f"verify, {where}" for where in ("host", "strict")
                 if f"verify {where}" in entry["by"]), "tests")


def kind(entry):
    if entry["why"].startswith("signal"):
        return "signal"
    return "no end" if entry["why"] == "no end" else judge(entry)


def survivors(entries, known):
    out = []
    for e in entries:
        if e["verdict"] == "survives":
            out.append(f"{e['file']}:{e['line']}: {change(e)}\n    {json.dumps(e['key'])}\n    "
                       f"{known.get(e['key'], '?')}")
    return "\n".join(out)


def fate(entry, known):
    """What became of a mutant that compiled. "not judged": its line is not in the build that was
    judged, so that it could not be noticed; the written reason says so."""
    if entry["verdict"] != "survives":
        return "killed"
    reason = known.get(entry["key"], {}).get("kind")
    if reason in ("equivalent", "not judged"):
        return reason
    return "not asked" if entry["by"] == "passed verify" else "open"


def of_compiled(entries):
    return [e for e in entries if e["verdict"] != "does not compile"]


def summary(entries, known):
    compiled = of_compiled(entries)
    count = collections.Counter(fate(e, known) for e in compiled)
    by = collections.Counter(judge(e) for e in compiled if fate(e, known) == "killed")
    unjudged = count.pop("not judged", 0)
    judged = sum(count.values())
    return (f"{judged} mutants judged: {count['killed']} killed, and {judged - count['killed']} "
            f"survive: {count['equivalent']} are equivalent for a written reason, "
            f"{count['open']} are open, and of {count['not asked']} the tests were not asked yet. "
            f"Of the killed, {by['verify, host']} died by `verify --level 1` on the host (a wrong "
            f"answer, a signal, or no end), {by['verify, strict']} by the same on the strict "
            f"device, and {by['tests']} only by unit tests, after verify had passed them. Apart "
            f"from these, {unjudged} were not judged (their lines are not in the build: code for "
            f"a GPU or another instruction set), and {len(entries) - len(compiled)} did not "
            f"compile.")


def table(entries, known):
    rows = collections.defaultdict(collections.Counter)
    for e in of_compiled(entries):
        end = fate(e, known)
        for name in (e["file"], "all"):
            rows[name]["judged"] += end != "not judged"
            rows[name][kind(e) if end == "killed" else
                       end if end == "not judged" else "survive"] += 1
    columns = ["judged", *KINDS, "survive", "not judged"]
    lines = ["| file | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for name in sorted(rows, key=lambda n: (n == "all", n)):
        cells = [rows[name][column] or "" for column in columns]
        lines.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def paragraph(text):
    return textwrap.fill(text, 98, subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)


def document(entries, known, population, options):
    drawn = (f" Drawn with seed {options.seed}, from {sum(population.values())} possible ones in "
             f"{len(population)} files.")
    out = [HEAD, paragraph(summary(entries, known) + drawn).replace("\n  ", "\n") + "\n",
           table(entries, known)]

    def section(title, fates, text):
        chosen = [e for end in fates for e in of_compiled(entries) if fate(e, known) == end]
        if chosen:
            out.append(f"\n## {title}\n")
        out.extend(paragraph(f"- `{e['file']}:{e['line']}` {change(e)}: {text(e)}")
                   for e in chosen)

    unexplained = {"open": "**not explained**", "not asked": "**its tests were not asked yet**"}
    section("Those that survive", ["equivalent", *unexplained],
            lambda e: unexplained.get(fate(e, known)) or
            f"equivalent: {known[e['key']]['why']}")
    section("Those that were not judged", ["not judged"], lambda e: known[e["key"]]["why"])
    found = [e for e in entries if e["verdict"] == "killed" and e["key"] in known]
    if found:
        out.append("\n## Those that survived once, and what kills them now\n")
        out += [paragraph(f"- `{e['file']}:{e['line']}` {change(e)}: {known[e['key']]['why']}")
                for e in found]
    return "\n".join(out) + "\n"
