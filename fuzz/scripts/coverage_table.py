"""Tables of `llvm-cov export -summary-only`: for each folder with sources, for each room with its
subfolders, for all; whether a room meets the aims; and the files below them."""
import json
import os
import sys

LINES, BRANCHES = 95.0, 90.0
ROOMS = ["reference", "gpu", "oracle"]


def share(covered, count):
    return "–" if count == 0 else f"{100 * covered / count:.1f} %"


def sums(summaries):
    """Lines covered and counted, branches covered and counted."""
    return [sum(s[kind][what] for s in summaries) for kind in ("lines", "branches")
            for what in ("covered", "count")]


def meets(summaries):
    """Whether lines do, and whether branches do."""
    lines, of_lines, branches, of_branches = sums(summaries)
    return 100 * lines >= LINES * of_lines, 100 * branches >= BRANCHES * of_branches


def row(name, summaries, *more):
    lines, of_lines, branches, of_branches = sums(summaries)
    cells = [name, of_lines, share(lines, of_lines), of_branches, share(branches, of_branches)]
    return "| " + " | ".join(map(str, [*cells, *more])) + " |"


def main(root, path):
    with open(path, encoding="utf-8") as stream:
        files = json.load(stream)["data"][0]["files"]
    summaries = {  # a header is found by a link to its room
        os.path.relpath(os.path.realpath(f["filename"]), root): f["summary"] for f in files
    }
    print("| folder | lines | covered | branches | covered |\n|---|---|---|---|---|")
    for folder in sorted({os.path.dirname(name) for name in summaries}):
        print(row(f"`{folder}`", [s for name, s in summaries.items()
                                  if os.path.dirname(name) == folder]))
    print(row("all", summaries.values()))
    print(f"\n| with its subfolders | lines | covered | branches | covered | "
          f"{LINES:.0f} % of lines | {BRANCHES:.0f} % of branches |\n|---|---|---|---|---|---|---|")
    for room in ROOMS:
        of_room = [s for name, s in summaries.items() if name.startswith(room + "/")]
        print(row(f"`{room}`", of_room,
                  *("met" if met else "not met" for met in meets(of_room))))
    print(f"\n| file below {LINES:.0f} % of lines or {BRANCHES:.0f} % of branches | lines | "
          "covered | branches | covered |\n|---|---|---|---|---|")
    for name, summary in sorted(summaries.items()):
        if not all(meets([summary])):
            print(row(f"`{name}`", [summary]))


if __name__ == "__main__":
    main(*sys.argv[1:])
