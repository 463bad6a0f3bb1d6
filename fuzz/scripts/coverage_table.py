"""Tables of `llvm-cov export -summary-only`: for each folder, and the files below the aims."""
import json
import os
import sys

LINES, BRANCHES = 95.0, 90.0
FOLDERS = ["reference", "gpu", "oracle", "oracle/backends", "oracle/input", "oracle/cli"]


def share(covered, count):
    return "–" if count == 0 else f"{100 * covered / count:.1f} %"


def below(summary):
    lines, branches = summary["lines"], summary["branches"]
    return (lines["count"] and 100 * lines["covered"] < LINES * lines["count"]) or (
        branches["count"] and 100 * branches["covered"] < BRANCHES * branches["count"]
    )


def row(name, *summaries):
    sums = [sum(s[kind][what] for s in summaries) for kind in ("lines", "branches")
            for what in ("covered", "count")]
    return (f"| {name} | {sums[1]} | {share(sums[0], sums[1])} | {sums[3]} | "
            f"{share(sums[2], sums[3])} |")


def main(root, path):
    with open(path, encoding="utf-8") as stream:
        files = json.load(stream)["data"][0]["files"]
    summaries = {  # a header is found by a link to its room
        os.path.relpath(os.path.realpath(f["filename"]), root): f["summary"] for f in files
    }
    print("| folder | lines | covered | branches | covered |\n|---|---|---|---|---|")
    for folder in FOLDERS:
        of_folder = [s for name, s in summaries.items() if os.path.dirname(name) == folder]
        if of_folder:
            print(row(f"`{folder}`", *of_folder))
    print(row("all", *summaries.values()))
    print(f"\n| file below {LINES:.0f} % of lines or {BRANCHES:.0f} % of branches | lines | "
          "covered | branches | covered |\n|---|---|---|---|---|")
    for name, summary in sorted(summaries.items()):
        if below(summary):
            print(row(f"`{name}`", summary))


if __name__ == "__main__":
    main(*sys.argv[1:])
