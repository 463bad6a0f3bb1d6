// Reads Leafproof's vectors with a JSON library alone, and recomputes what it can: `coarsen` of
// docs/spec.md [F], and `kernel_map` of docs/dialect-vectors.md by fine = step * coarse + offset.
// Cases of other operations are counted and left. Nothing of Leafproof is included.
//   read_vectors oracle/vectors/coarsen.json oracle/vectors/dialects/spconv.json
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using Place = std::array<std::int64_t, 3>;
using Row = std::array<std::int64_t, 4>;

bool says(const json& object, const char* key, const char* value) {
  return object.at(key).get<std::string>() == value;
}

std::int64_t floor_div(std::int64_t n, std::int64_t d) {
  return n / d - (n % d < 0 ? 1 : 0);
}

/// Root tile, then the offset in the upper node, the lower node and the leaf [G-2].
std::array<Place, 4> canonical_key(const Place& v) {
  const auto node = [&](int shift, std::int64_t mask) {
    return Place{v[0] >> shift & mask, v[1] >> shift & mask, v[2] >> shift & mask};
  };
  return {Place{v[0] >> 12, v[1] >> 12, v[2] >> 12}, node(7, 31), node(3, 15), node(0, 7)};
}

bool check_coarsen(const json& params, const json& c) {
  const auto factor = params.at("factor").get<Place>();
  if (*std::min_element(factor.begin(), factor.end()) < 1) return says(c, "result", "invalid");
  const json &source = c.at("source"), &expected = c.at("expected").at("voxels");
  const std::size_t members = c.contains("view") ? c.at("view").size() : source.size();
  for (std::size_t m = 0; m < members; ++m) {
    auto voxels = source.at(c.contains("view") ? c.at("view")[m].get<std::size_t>() : m)
                      .get<std::vector<Place>>();
    for (Place& v : voxels)
      for (std::size_t a = 0; a < 3; ++a) v[a] = floor_div(v[a], factor[a]);
    std::sort(voxels.begin(), voxels.end(),
              [](const Place& l, const Place& r) { return canonical_key(l) < canonical_key(r); });
    voxels.erase(std::unique(voxels.begin(), voxels.end()), voxels.end());
    if (voxels != expected.at(m).get<std::vector<Place>>()) return false;
  }
  return expected.size() == members;
}

bool check_kernel_map(const json& params, const json& c) {
  if (says(c, "result", "invalid")) return true;  // what is refused has no pairs
  const json& expected = c.at("expected");
  const auto source = c.at("source").get<std::vector<Row>>();
  const auto target = expected.at("target").get<std::vector<Row>>();
  const auto offsets = expected.at("offsets").get<std::vector<Place>>();
  const auto step = expected.at("step").get<Place>();
  const bool up = says(params, "kind", "transposed") || says(params, "kind", "inverse");
  std::map<Row, std::int64_t> number;
  for (std::size_t i = 0; i < source.size(); ++i)
    number.emplace(source[i], static_cast<std::int64_t>(i));
  std::vector<std::vector<std::array<std::int64_t, 2>>> pairs(offsets.size());
  for (std::size_t t = 0; t < offsets.size(); ++t)
    for (std::size_t i = 0; i < target.size(); ++i) {
      Row there{target[i][0], 0, 0, 0};
      bool whole = true;
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t here = target[i][a + 1];
        there[a + 1] =
            up ? floor_div(here - offsets[t][a], step[a]) : here * step[a] + offsets[t][a];
        whole = whole && (!up || there[a + 1] * step[a] + offsets[t][a] == here);
      }
      const auto found = number.find(there);
      if (whole && found != number.end())
        pairs[t].push_back({found->second, static_cast<std::int64_t>(i)});
    }
  return expected.at("pairs").get<decltype(pairs)>() == pairs;
}

}  // namespace

int main(int argc, char** argv) {
  int checked = 0, wrong = 0, left = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream stream(argv[i]);
    const json document = json::parse(stream);
    const bool dialect = says(document, "format", "leafproof-dialect-vectors");
    for (const json& group : document.at("groups"))
      for (const json& c : group.at("cases")) {
        const bool taken = says(group, "op", dialect ? "kernel_map" : "coarsen");
        if (!taken) {
          ++left;
          continue;
        }
        ++checked;
        const bool equal = dialect ? check_kernel_map(group.at("params"), c)
                                   : check_coarsen(group.at("params"), c);
        if (equal) continue;
        ++wrong;
        std::printf("%s: %s\n", argv[i], c.dump().c_str());
      }
  }
  std::printf("%d recomputed, %d different, %d of other operations\n", checked, wrong, left);
  return wrong > 0 || checked == 0 ? 1 : 0;
}
