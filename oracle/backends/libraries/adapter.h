// What the adapters of C++ libraries have in common: the pipe of docs/answer-format.md. Lines
// "NUMBER case1 ..." in, lines "NUMBER answer1 ..." out, each flushed before the next is read.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/case.h"

namespace leafproof::oracle::libraries {

/// The dialect cannot express the case; says why.
struct NotImplementedHere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The text of an answer, without number and "answer1": "grid voxels=[0,0,0] order=own". `number`
/// tells the answers of a run apart.
using Answerer = std::function<std::string(const Case& question, const std::string& number)>;

struct Library {
  std::string name, version;
  std::map<std::string, std::string> operations;  // name -> which of its functions answers it
  Answerer answer;
};

/// Voxels per member in the library's own order.
std::string grid_text(const std::vector<std::vector<Voxel>>& members);

/// Text of an answer: other bytes than letters, digits, _ . and - as %XX.
std::string plain(std::string_view text);

/// The members that the operation reads [T-9]. NotImplementedHere for a view of what is not there.
std::vector<std::vector<Voxel>> members_of(const Case& question);

/// `main` of an adapter: serves the pipe, or with --about prints what it is as JSON. What the
/// library throws is the answer "failed"; a line that is no case, too.
int serve(int argc, char** argv, const Library& library);

}  // namespace leafproof::oracle::libraries
