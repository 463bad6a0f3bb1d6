"""docs/conformance.md, made of the results of `leafproof conformance`. Plain Python."""

import textwrap
import urllib.parse

INTRO = """\
# Libraries of the field, judged

`./leafproof conformance NAME` installs a library into an environment of its own, runs it on the
cases that `verify` judges our own builder by, and writes this page. Each answer is judged element
by element by the reference: voxels, pairs of a kernel map, numbers by the bound of [V-3]; rows in
the library's own order are put in ours first [M-7]. The page says what was run on the day that
stands beside each library, on a CPU, and nothing else; no CUDA path of any library was run.

How a difference is sorted, so that nobody is accused of having a dialect:
- *convention*: the library does what its rule says [X], and the rule is another than [K]. The rule
  is written down in the adapter and computed without the library; the library must give exactly
  that answer for the difference to count as convention (sums of fractions aside: of those only the
  rows are compared with the rule).
- *limit*: what the library says, or shows, that it does not do.
- *fault*: neither. It stays so until somebody explains it.

*Asked* counts cases that the dialect can express: the others are listed with their reasons. Beside
each generated case its forms are asked: folded into a box around 0, with the complete target, as a
submanifold convolution, as a cube (`oracle/backends/libraries/cases.py`). Of each kind the smallest
case is shown; `./leafproof replay 'CASE' --as vector` prints what the reference says to it.
"""

NEEDS = {
    "torch": "Python 3.10, PyTorch 1.12.1 and NumPy 1.26 from PyPI: the wheel imports without a "
             "GPU. No build.",
    "spconv": "Python 3.10, PyTorch 1.12.1, NumPy 1.26 and spconv 2.3.8 from PyPI. No build. "
              "`ConvAlgo.Native`; one OpenMP thread, because sums on the CPU are not reliable "
              "with more. Backward asks for a CUDA stream, so it cannot run.",
    "minkowski": "Python 3.10, PyTorch 1.12.1, OpenBLAS with headers; the source package from PyPI "
                 "builds with `--cpu_only --blas=openblas` after `collections.Sequence`, which "
                 "Python 3.10 has no more, is renamed, and the folder `MinkowskiEngineBackend` is "
                 "made.",
    "mlx-lato": "Python 3.12, MLX 0.32.4 with its CPU backend from PyPI. No build. The port itself "
                "is no package: its algorithm is written anew in the adapter.",
    "mlx-lattice": "Python 3.12, MLX 0.31.2 with its CPU backend, nanobind 2.12; the source "
                   "package from PyPI builds on Linux after one CMake target is given its source "
                   "and one function that only Metal has is given a body that refuses.",
    "fvdb": "A build of fvdb-core; its source packages fetch more while they are built.",
    "openvdb": "Debian's libopenvdb-dev and libboost-dev; the adapter is built by CMake.",
    "nanovdb": "The headers that every build of Leafproof uses; the adapter is built by CMake.",
}


def decoded(text):
    return urllib.parse.unquote(text)


def wrapped(text, indent=""):
    return textwrap.fill(text, 100, initial_indent=indent, subsequent_indent="  " if indent else "",
                         break_long_words=False, break_on_hyphens=False)


def described(result, kind):
    """Verdict, text and documentation of a kind: those of the adapter, joined where it is two."""
    known = result.get("conventions", {})
    parts = [known[name] for name in kind["kind"].split("+") if name in known]
    if parts:
        return parts[0][0], " ".join(p[1] for p in parts), "; ".join(
            dict.fromkeys(p[2] for p in parts if p[2]))
    for name, part in known.items():
        if kind["kind"].startswith(name):
            return part
    if kind["kind"] == "range":
        return ("limit", "The result has a coordinate outside 32 bits, which [L-5] refuses; the "
                "library answers.", "")
    return "fault", "Not explained by the library's rule.", ""


def faults(result):
    return sum(described(result, kind)[0] == "fault" for kind in result.get("kinds", []))


def totals(result):
    rows = result["operations"].values()
    return tuple(sum(row[name] for row in rows) for name in ("asked", "agree", "differ"))


def summary(result):
    lines = ["%s %s: %d asked, %d agree, %d differ" % (
        (result["name"], result["version"]) + totals(result))]
    for kind in result["kinds"]:
        lines.append("  %5d  %s: %s" % (kind["count"], described(result, kind)[0], kind["kind"]))
        lines.append("         " + kind["case"])
    return "\n".join(lines)


def shown(text, limit=900):
    return text if len(text) <= limit else text[:limit] + " ... (%d characters)" % len(text)


def section(result):
    title = "## " + result["name"]
    if not result["installed"]:
        return "\n".join([
            title, "", wrapped("Not judged on %s: %s." % (
                result["date"], result["reason"].rstrip("."))), "",
            wrapped("What it needs: " + NEEDS[result["name"]])])
    lines = [title + " " + result["version"], ""]
    lines.append(wrapped("Run on %s, %d s, seed %d; %s. %d asked, %d agree, %d differ." % (
        (result["date"], result["seconds"], result["seed"], result["machine"]) + totals(result))))
    lines += ["", wrapped("What it needs without a GPU: " + NEEDS[result["name"]])]
    lines += [wrapped(note) for note in result["notes"]]
    lines += ["", "| operation | what answers | asked | agree | differ | not asked |",
              "|---|---|---|---|---|---|"]
    for op, row in sorted(result["operations"].items()):
        lines.append("| `%s` | %s | %d | %d | %d | %d |" % (
            op, row["how"], row["asked"], row["agree"], row["differ"], sum(row["not"].values())))
    reasons = {}
    for row in result["operations"].values():
        for reason, count in row["not"].items():
            reasons[reason] = reasons.get(reason, 0) + count
    if reasons:
        lines += ["", "Not asked, because:"]
        for reason, count in sorted(reasons.items(), key=lambda r: -r[1]):
            lines.append(wrapped("%d: %s" % (count, reason), "- "))
    if not result["kinds"]:
        lines += ["", "No difference was found."]
    for kind in result["kinds"]:
        verdict, text, documentation = described(result, kind)
        lines += ["", "### %s: %s" % (verdict, decoded(kind["kind"])), "",
                  wrapped("%d of %s. %s" % (kind["count"], ", ".join(
                      "`%s`" % op for op in sorted(kind["operations"])), text))]
        if documentation:
            lines.append(wrapped("Documented: " + documentation))
        lines += ["", "```", shown(kind["case"]), shown(decoded(kind["answer"])), "```"]
    return "\n".join(lines)


def table(results):
    lines = ["| library | version | date | asked | agree | conventions | limits | faults |",
             "|---|---|---|---|---|---|---|---|"]
    for result in results:
        if not result["installed"]:
            lines.append("| %s | not judged | %s | | | | | |" % (result["name"], result["date"]))
            continue
        counts = {"convention": 0, "limit": 0, "fault": 0}
        for kind in result["kinds"]:
            counts[described(result, kind)[0]] += kind["count"]
        asked, agree, _ = totals(result)
        lines.append("| %s | %s | %s | %d | %d | %d | %d | %d |" % (
            result["name"], result["version"], result["date"], asked, agree,
            counts["convention"], counts["limit"], counts["fault"]))
    return "\n".join(lines)


def page(results):
    return "\n\n".join([INTRO.rstrip(), table(results)] + [section(r) for r in results]) + "\n"
