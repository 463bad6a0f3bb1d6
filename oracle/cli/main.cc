// The program `leafproof`: chooses a command, and turns every refusal into one sentence and an exit
// code. Nothing that a user can do ends in a stack trace.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>

#include "oracle/cli/commands.h"
#include "oracle/cli/terminal.h"

#ifndef LEAFPROOF_VERSION
#error "the build passes LEAFPROOF_VERSION"
#endif

namespace {

using namespace leafproof::oracle;

constexpr const char* kFooter = R"(
Examples:
  leafproof verify                                  judge this build's builder, with real input
  leafproof verify --backend host-mask --ops refine,dual --level 3
  leafproof verify --backend 'python3 mine.py' --skips mine.skips
  leafproof verify --backend ./libmine.so --skips mine.skips
  leafproof replay 'case1 refine factor=2 source=[-1,0,0]'
  leafproof apply refine bunny.obj --resolution 256 --factor 2 -o fine.nvdb
  leafproof check dilate_box coarse.nvdb theirs.nvdb --lo -1 --hi 1
  leafproof show fine.nvdb
  leafproof vectors oracle/vectors --backend reference
  leafproof explain spconv -K 3 -S 2

Exit codes: 0 equal; 1 different, or not implemented, or left out, without being told to skip it;
2 usage or bad input; 3 no device. `leafproof COMMAND --help` says more.
The script ./leafproof of a checkout has more commands: `./leafproof --help`.)";

/// What the script of a checkout does beside this program: its tests and tools.
constexpr const char* kOfTheScript[] = {"build", "test",        "lint",    "bench",    "selftest",
                                        "fuzz",  "conformance", "mutants", "gpu-check"};

/// One sentence for a mistake on the command line, and where help is.
int bad_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "leafproof";
  for (const auto* chosen : app.get_subcommands()) command += " " + chosen->get_name();
  std::string what = error.what();
  for (char& c : what)
    if (c == '\n') c = ' ';
  cli::say(fmt::format("{} (see `{} --help`)", what, command));
  return cli::kBadInput;
}

/// An empty word is a shell variable that is not set: refused, never taken for "not given".
bool has_empty_word(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const bool empty_value = word.size() > 2 && word.starts_with("--") && word.ends_with('=');
    if (!word.empty() && !empty_value) continue;
    cli::say(empty_value ? fmt::format("{} has no value", word.substr(0, word.size() - 1))
             : i > 1     ? fmt::format("the word after '{}' is empty", argv[i - 1])
                         : "the first word is empty");
    return true;
  }
  return false;
}

int finish(int exit_code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return exit_code;
  cli::say("stdout cannot be written: the answer is incomplete");
  return cli::kBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  cli::guard_standard_files();
  if (has_empty_word(argc, argv)) return cli::kBadInput;
  int exit_code = cli::kEqual;
  CLI::App app{
      "Leafproof: is a batch of sparse voxel grids (NanoVDB ValueOnIndex) built right? Judges "
      "builders against a plain reference, element by element."};
  app.name("leafproof");
  app.set_version_flag("--version", fmt::format("leafproof {} (semantics {})", LEAFPROOF_VERSION,
                                                kSemanticsVersion));
  app.footer(kFooter);
  app.require_subcommand(1);
  cli::add_verify(app, exit_code);
  cli::add_merge(app, exit_code);
  cli::add_replay(app, exit_code);
  cli::add_apply(app, exit_code);
  cli::add_check(app, exit_code);
  cli::add_convolution(app, exit_code);
  cli::add_show(app, exit_code);
  cli::add_vectors(app, exit_code);
  cli::add_dialects(app, exit_code);
  cli::add_pipe(app, exit_code);
  cli::add_serve(app, exit_code);
  const auto named = [&](const CLI::App* command) {
    return argc > 1 && command->get_name() == argv[1];
  };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
    const bool of_script = std::ranges::count(kOfTheScript, std::string_view(argv[1])) > 0;
    cli::say(of_script
                 ? fmt::format("'{0}' is of the script of a checkout: `./leafproof {0}`", argv[1])
                 : fmt::format("there is no command '{}' (see `leafproof --help`)", argv[1]));
    return cli::kBadInput;
  }
  try {
    app.parse(argc, argv);
    return finish(exit_code);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish(app.exit(error));  // --help, --version
    return bad_usage(app, error);
  } catch (const Error& error) {
    cli::say(error.what());
    const bool no_device =
        error.kind() == ErrorKind::Unsupported && error.detail().argument == "backend";
    return no_device ? cli::kNoDevice : cli::kBadInput;
  } catch (const std::bad_alloc&) {
    cli::say("out of memory");
    return cli::kBadInput;
  } catch (const std::system_error&) {  // of fmt, which prints to stdout
    if (std::ferror(stdout) != 0) return finish(exit_code);
    cli::say("the system refused what leafproof asked of it");
    return cli::kBadInput;
  } catch (const std::exception& error) {
    cli::say(fmt::format("this is a fault of leafproof itself: {}", error.what()));
    return cli::kBadInput;
  }
}
