// Nothing crosses members [L-3]: a member built in a batch is the member built alone, byte for byte
// but for grid index and count; a batch's kernel map is its members' maps one after the other.
// Asked of each builder about itself, so that no reference can be wrong alike.
#include "fuzz/case_target.h"
#include "fuzz/sides.h"
#include "oracle/case_edit.h"
#include "oracle/nanovdb_format.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;
namespace format = oracle::format;

Case alone(const Case& c, std::size_t position) {
  Case one = c;
  drop_positions(one, position + 1, positions(c));
  drop_positions(one, 0, position);
  return one;
}

/// Grids one after the other as one batch: their bytes, with index and count made those of it.
GridBuffer batched(const std::vector<GridBuffer>& grids) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  GridBuffer batch;
  for (std::size_t m = 0; m < grids.size(); ++m) {
    const std::size_t begin = bytes->size();
    bytes->insert(bytes->end(), grids[m].bytes.begin(), grids[m].bytes.end());
    const auto number = [&](const format::Field& field, std::size_t n) {
      format::store(bytes->data() + begin + field.at, static_cast<std::uint32_t>(n));
    };
    number(format::GridData::index, m);
    number(format::GridData::count, grids.size());
    batch.offsets.push_back(bytes->size());
  }
  batch.owner = bytes;
  batch.bytes = {bytes->data(), bytes->size()};
  return batch;
}

KernelMapAnswer batched(const std::vector<KernelMapAnswer>& maps) {
  KernelMapAnswer batch;
  auto& all = batch.map;
  const std::size_t taps = maps.front().map.offsets.size() - 1;
  for (std::size_t tap = 0; tap < taps; ++tap) {
    std::int64_t source = 0, target = 0;
    for (const auto& answer : maps) {
      const reference::KernelMap& map = answer.map;
      for (auto i = static_cast<std::size_t>(map.offsets[tap]);
           i < static_cast<std::size_t>(map.offsets[tap + 1]); ++i) {
        all.gather.push_back(source + map.gather[i]);
        all.scatter.push_back(target + map.scatter[i]);
      }
      source += map.source_rows;
      target += map.target_rows;
    }
    all.offsets.push_back(static_cast<std::int64_t>(all.gather.size()));
    all.source_rows = source;
    all.target_rows = target;
  }
  return batch;
}

template <class T>
Answer batch_of_all(const std::vector<Answer>& answers) {
  std::vector<T> parts;
  for (const Answer& answer : answers) parts.push_back(std::get<T>(answer));
  return batched(parts);
}

/// Refused as a whole where one member is [L-5], and nowhere else.
void refused_alike(const Case& question, const Backend& side, const Error& error,
                   const std::vector<Answer>& answers) {
  if (error.kind() != ErrorKind::OutOfRange) return;  // of the batch, of an argument
  for (const Answer& answer : answers)
    if (std::holds_alternative<Error>(answer)) return;
  finding_in(question, side, std::string("only together refused: ") + error.what());
}

}  // namespace

const std::vector<Op>& target_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> all = topology_ops();
    all.insert(all.end(), {Op::ConvGrid, Op::ConvTransposeGrid, Op::KernelMap});
    return all;
  }();
  return ops;
}

void try_case(const Case& question, bool rarely) {
  if (positions(question) == 0 || question.dense) return;
  for (const Backend* side : builders(rarely)) {
    const Answer together = side->answer(question);
    std::vector<Answer> answers;
    for (std::size_t p = 0; p < positions(question); ++p)
      answers.push_back(side->answer(alone(question, p)));
    if (const auto* error = std::get_if<Error>(&together)) {
      refused_alike(question, *side, *error, answers);
      continue;
    }
    for (std::size_t p = 0; p < answers.size(); ++p)
      if (const auto* error = std::get_if<Error>(&answers[p]))
        finding_in(question, *side,
                   "member " + std::to_string(p) + " is refused alone: " + error->what());
    const Answer expected = std::holds_alternative<GridBuffer>(together)
                                ? batch_of_all<GridBuffer>(answers)
                                : batch_of_all<KernelMapAnswer>(answers);
    if (const auto what = difference(expected, together))
      finding_in(question, *side, "members alone (expected), and in their batch: " + *what);
  }
}

}  // namespace leafproof::fuzz
