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


def kind(entry):
    if entry["why"].startswith("signal"):
        return "signal"
    if entry["why"] == "no end":
        return "no end"
    if "verify host" in entry["by"]:
        return "verify, host"
    if "verify strict" in entry["by"]:
        return "verify, strict"
    return "tests"


def survivors(entries, known):
    out = []
    for e in entries:
        if e["verdict"] == "survives":
            out.append(f"{e['file']}:{e['line']}: {change(e)}\n    {json.dumps(e['key'])}\n    "
                       f"{known.get(e['key'], '?')}")
    return "\n".join(out)


def summary(entries, known):
    count = collections.Counter(e["verdict"] for e in entries)
    equivalent = sum(e["verdict"] == "survives" and known.get(e["key"], {}).get("kind") ==
                     "equivalent" for e in entries)
    judged = count["killed"] + count["survives"]
    asked = sum(e["by"] == "passed verify" for e in entries)
    open_ones = sum(e["verdict"] == "survives" and e["key"] not in known for e in entries) - asked
    return (f"{judged} compiled mutants judged: {count['killed']} killed, {count['survives']} "
            f"survive, of which {equivalent} are equivalent for a written reason; "
            f"{open_ones} are open, and of {asked} the tests were not asked yet; "
            f"{count['does not compile']} more did not compile.")


def table(entries):
    rows = collections.defaultdict(collections.Counter)
    for e in entries:
        if e["verdict"] == "does not compile":
            continue
        for name in (e["file"], "all"):
            rows[name]["mutants"] += 1
            rows[name]["survive" if e["verdict"] == "survives" else kind(e)] += 1
    lines = ["| file | mutants | " + " | ".join(KINDS) + " | survive |",
             "|---|" + "--:|" * (len(KINDS) + 2)]
    for name in sorted(rows, key=lambda n: (n == "all", n)):
        cells = [rows[name][k] or "" for k in ["mutants", *KINDS, "survive"]]
        lines.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def paragraph(text):
    return textwrap.fill(text, 98, subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)


def document(entries, known, population, options):
    drawn = (f" Drawn with seed {options.seed}, from {sum(population.values())} possible ones in "
             f"{len(population)} files.")
    out = [HEAD, paragraph(summary(entries, known) + drawn).replace("\n  ", "\n") + "\n",
           table(entries), "\n## Those that survive\n"]
    open_ones = []
    for e in entries:
        if e["verdict"] != "survives":
            continue
        reason = known.get(e["key"])
        text = (f"{reason['kind']}: {reason['why']}" if reason else
                "**its tests were not asked yet**" if e["by"] == "passed verify" else
                "**not explained**")
        (out if reason else open_ones).append(
            paragraph(f"- `{e['file']}:{e['line']}` {change(e)}: {text}"))
    found = [e for e in entries if e["verdict"] == "killed" and e["key"] in known]
    if found:
        out.append("\n## Those that survived once, and what kills them now\n")
        out += [paragraph(f"- `{e['file']}:{e['line']}` {change(e)}: {known[e['key']]['why']}")
                for e in found]
    return "\n".join(out + open_ones) + "\n"
