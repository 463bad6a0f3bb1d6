// A backend that is another program, in any language: it reads cases from its stdin and writes
// answers to its stdout, a line each (docs/answer-format.md). What it does instead, a crash, a
// hang, a reply that is none, is a verdict with the case, and a fresh process takes the next.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// The words of a command, split, quoted and expanded as a shell does, without running anything;
/// nullopt where it is no command: words that a shell would not take, or a first word that names no
/// program (a path, or a name in PATH).
std::optional<std::vector<std::string>> command_words(const std::string& command);

/// `name`: as reports print it, and what --backend was told. As many processes as threads ask at
/// once; started when first asked, ended with the backend. A process gets SIGKILL when its time for
/// a case is over or its answer is none, and with it its process group; at the end, when its stdin
/// is closed, it has a second to leave.
std::unique_ptr<Backend> make_process_backend(std::string name, std::vector<std::string> words,
                                              ForeignOptions options = {});

/// Of a program that answers for a shared library. One that answers `failed` is not asked again: it
/// may have ended, and what it failed of may be in its memory.
std::unique_ptr<Backend> make_library_server(std::string name, std::vector<std::string> words,
                                             ForeignOptions options, std::string description);

}  // namespace leafproof::oracle
