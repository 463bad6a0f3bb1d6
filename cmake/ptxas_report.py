#!/usr/bin/env python3
"""What ptxas said of the kernels, from the logs that the build leaves beside its objects.

    ptxas_report.py [--check] [--only PATTERN] FILE.ptxas...

A table: kernel; registers, bytes of stack frame, bytes of spill stores and loads, per architecture.
Kernels of CUB are listed apart. --check prints no table and fails when a kernel of ours spills, or
when there is nothing to judge. A stack frame is not a spill: arrays with an index known only at run
time live there."""
import argparse
import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")


def read(files):
    """{kernel: {architecture: [registers, frame, spill stores, spill loads]}}"""
    kernels = {}
    for file in files:
        numbers = None
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                if entry := ENTRY.search(line):
                    numbers = kernels.setdefault(entry[1], {}).setdefault(entry[2], [0, 0, 0, 0])
                elif numbers is not None and (frame := FRAME.search(line)):
                    numbers[1:] = map(int, frame.groups())
                elif numbers is not None and (used := USED.search(line)):
                    numbers[0] = int(used[1])
                    numbers = None
    return kernels


def plain(names):
    """Names as the source has them; mangled where there is no c++filt."""
    try:
        text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return dict(zip(names, names))
    return dict(zip(names, map(shortened, text.splitlines())))


def shortened(name):
    """Without what every kernel here has: rooms, defaults of NanoVDB, parameters."""
    end = name.rfind(">(")
    name = name[:end + 1] if end >= 0 else re.sub(r"\(.*", "", name)
    name = re.sub(r"\(leafproof::gpu::discovery::Level\)(\d)",
                  lambda level: ("Upper", "Lower", "Leaf")[int(level[1])], name)
    name = re.sub(r"nanovdb::InternalData<nanovdb::InternalNode.*?5u> ?>", "UpperNode", name)
    name = re.sub(r"nanovdb::InternalData<nanovdb::LeafNode.*?4u> ?>", "LowerNode", name)
    return re.sub(r"leafproof::gpu::|\(anonymous namespace\)::|^void ", "", name)


def table(title, kernels, names):
    architectures = sorted({a for numbers in kernels.values() for a in numbers})
    print(f"{title}: registers, stack frame, spill stores, spill loads")
    print("  ".join(f"{a:>20}" for a in architectures))
    for kernel in sorted(kernels, key=lambda k: names[k]):
        cells = []
        for architecture in architectures:
            numbers = kernels[kernel].get(architecture)
            cells.append("{:>20}".format("-" if numbers is None else
                                         "{:>4} {:>5} {:>4} {:>4}".format(*numbers)))
        print("  ".join(cells) + "  " + names[kernel])
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="", help="kernels whose name matches")
    options = parser.parse_args()

    kernels = read(options.files)
    names = plain(list(kernels))
    ours = {k: v for k, v in kernels.items() if "3cub" not in k.split("leafproof")[0]}
    cubs = {k: v for k, v in kernels.items() if k not in ours}
    if options.only:
        ours = {k: v for k, v in ours.items() if re.search(options.only, names[k])}
        cubs = {k: v for k, v in cubs.items() if re.search(options.only, names[k])}
    if not options.check:
        table("Kernels of ours", ours, names)
        table("Kernels of CUB", cubs, names)
    spilling = [f"{names[k]} for {a}: {n[2]} bytes stored, {n[3]} loaded"
                for k, v in ours.items() for a, n in v.items() if n[2] or n[3]]
    for line in spilling:
        print(f"spills: {line}")
    for what, some in (("ours", ours), ("CUB's", cubs)):
        everywhere = [n for v in some.values() for n in v.values()]
        if everywhere:
            print(f"{len(some)} kernels of {what}, {len(everywhere)} with every architecture: "
                  f"at most {max(n[0] for n in everywhere)} registers, "
                  f"{sum(1 for n in everywhere if n[1])} with a stack frame, "
                  f"{sum(1 for n in everywhere if n[2] or n[3])} that spill")
    if not ours:
        print("no kernel in these files")
    return 1 if spilling or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
