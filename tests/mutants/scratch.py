"""A copy of the sources in which every sampled mutant is a switch, built once.

Compiling a mutant takes minutes of the templates of `gpu/`, judging it a second. So all mutants of
the sample are in one build, each behind `LEAFPROOF_MUTANT(n)`, and the environment says which one
is switched on. What does not compile as a switch (a constant expression, a type) is taken out.
"""

import re
import shutil
import subprocess

SWITCH = """// Which mutant is switched on; none without LEAFPROOF_MUTANT in the environment.
#pragma once
#include <cstdlib>
inline const int leafproof_mutant_on = [] {
  const char* number = std::getenv("LEAFPROOF_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}();
#define LEAFPROOF_MUTANT(n) (leafproof_mutant_on == (n))
"""

# Rooms that see the sources with switches: compiled soon, and without warnings.
LENIENT = ["gpu/CMakeLists.txt", "oracle/backends/CMakeLists.txt", "tests/CMakeLists.txt"]
LENIENT_OPTIONS = (b"add_compile_options(-O1 -w -fmax-errors=0 -DLEAFPROOF_ONE_INSTRUCTION_SET)\n")


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def with_switches(source, numbered):
    """The text of a file in which the mutants, (number, mutant), are switches."""
    out, at = [], 0
    places = {}
    for number, mutant in numbered:
        places.setdefault((mutant.begin, mutant.end, mutant.statement), []).append((number, mutant))
    for (begin, end, statement), here in sorted(places.items()):
        out.append(source[at:begin])
        was = source[begin:end]
        text = was if statement else f"({was})"
        for number, mutant in here:
            on = f"LEAFPROOF_MUTANT({number})"
            if statement:
                text = f"{{ if ({on}) {{ {mutant.text} }} else {{ {text} }} }}"
            elif mutant.operator == "condition":
                text = f"({on} ? {mutant.text} : static_cast<bool>({text}))"
            else:
                text = f"({on} ? ({mutant.text}) : {text})"
        out.append(text)
        at = end
    out.append(source[at:])
    text = "".join(out)
    # In place of an empty line, so that lines keep their numbers.
    return re.sub(r"^(#pragma once|#include [^\n]*)\n\n", r'\1\n#include "gpu/mutant_switch.h"\n',
                  "".join(out), count=1, flags=re.M)


class Scratch:
    """The copy, in `folder`, of the project in `root`."""

    def __init__(self, root, folder, nanovdb):
        self.root, self.folder, self.nanovdb = root, folder, nanovdb
        self.source = folder / "source"
        self.build = self.source / "build"
        self.bin = self.build / "bin"

    def copy(self, mutated):
        """All but the files that are mutated: see write()."""
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root,
                               check=True, capture_output=True, text=True).stdout.splitlines()
        for name in names:
            at, to = self.root / name, self.source / name
            if name in mutated or not at.is_file():
                continue
            text = at.read_bytes()
            if name in LENIENT:
                # Nor is the strict executor worth an optimiser's time.
                text = LENIENT_OPTIONS + text.replace(b"$<$<CONFIG:Release>:-O1>", b"-O0")
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists() or to.read_bytes() != text:
                to.write_bytes(text)
                shutil.copymode(at, to)
        write_if_changed(self.source / "gpu/mutant_switch.h", SWITCH)

    def write(self, numbered, files):
        """The sources of `gpu/`, with these mutants, (number, mutant)."""
        for name in files:
            source = (self.root / name).read_text()
            mine = [(n, m) for n, m in numbered if m.file == name]
            write_if_changed(self.source / name, with_switches(source, mine) if mine else source)

    def configure(self):
        if (self.build / "build.ninja").exists():
            return
        command = ["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja",
                   "-DCMAKE_BUILD_TYPE=Release", "-DLEAFPROOF_CUDA=OFF", "-DLEAFPROOF_ASSIMP=OFF",
                   "-DLEAFPROOF_BENCHMARKS=OFF"]
        if self.nanovdb:
            command.append(f"-DLEAFPROOF_NANOVDB_INCLUDE={self.nanovdb}")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def make(self, targets):
        """Builds; the lines of gpu/ where it fails, as {(file, line)}, or what ninja said."""
        done = subprocess.run(["ninja", "-C", self.build, "-k", "0", *targets],
                              capture_output=True, text=True)
        if done.returncode == 0:
            return set(), ""
        return lines_of_errors(done.stdout), done.stdout


def lines_of_errors(text):
    """Where g++ and clang say that mutants do not compile: of each error the first line of gpu/."""
    places, waiting = set(), False
    for line in text.splitlines():
        at = re.search(r"(?:^|[/ ])(gpu/(?!mutant_switch)[\w.]+):(\d+)(?::\d+)?:?\s+"
                       r"(error|required from|note)", line)
        error = re.search(r":\d+: (?:fatal )?error:", line)
        if error:
            waiting = True
        if at and (error or waiting):
            places.add((at.group(1), int(at.group(2))))
            waiting = False
    return places
