#include "tests/faults/dialect_faults.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "oracle/dialects/rows.h"

namespace leafproof::faults {
namespace {

using namespace oracle::dialects;

/// What a dialect says of itself; each fault is one of these, said otherwise.
class Healthy : public Dialect {
 public:
  explicit Healthy(const Dialect& dialect) : dialect_(dialect) {}
  Facts facts() const override { return dialect_.facts(); }
  std::array<std::size_t, 3> axes() const override { return dialect_.axes(); }
  void check(const Layer& layer) const override { dialect_.check(layer); }
  std::vector<Kind> kinds() const override { return dialect_.kinds(); }
  std::vector<Triple> taps(const Layer& layer) const override { return dialect_.taps(layer); }
  std::vector<Triple> offsets(const Layer& layer) const override { return dialect_.offsets(layer); }
  Triple step(const Layer& layer) const override { return dialect_.step(layer); }
  Triple fine_unit(const Layer& layer) const override { return dialect_.fine_unit(layer); }
  Triple coarse_unit(const Layer& layer) const override { return dialect_.coarse_unit(layer); }
  Triple our_padding(const Layer& layer) const override { return dialect_.our_padding(layer); }
  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    return dialect_.map(layer, source, target);
  }
  int weight_forms() const override { return dialect_.weight_forms(); }
  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int form) const override {
    return dialect_.weight_shape(layer, channels, form);
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int form) const override {
    return dialect_.weight_place(layer, channels, co, ci, tap, form);
  }

 private:
  const Dialect& dialect_;
};

class TwoAxesAreOne : public Healthy {
 public:
  using Healthy::Healthy;
  std::array<std::size_t, 3> axes() const override { return {0, 0, 2}; }
};

class CoarseUnitOfTheFine : public Healthy {
 public:
  using Healthy::Healthy;
  Triple coarse_unit(const Layer& layer) const override { return fine_unit(layer); }
};

class LastTapIsTheFirst : public Healthy {
 public:
  using Healthy::Healthy;
  std::vector<Triple> taps(const Layer& layer) const override {
    std::vector<Triple> taps = Healthy::taps(layer);
    taps.back() = taps.front();
    return taps;
  }
};

class TapsBackwards : public Healthy {
 public:
  using Healthy::Healthy;
  std::vector<Triple> taps(const Layer& layer) const override {
    std::vector<Triple> taps = Healthy::taps(layer);
    std::ranges::reverse(taps);
    return taps;
  }
};

class WeightsOfOnePlane : public Healthy {
 public:
  using Healthy::Healthy;
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int form) const override {
    return Healthy::weight_place(layer, channels, co, ci, {tap[0], tap[1], 0}, form);
  }
};

class LastPairLost : public Healthy {
 public:
  using Healthy::Healthy;
  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    LayerMap map = Healthy::map(layer, source, target);
    for (auto& tap : map.pairs)
      if (tap.size() > 1) tap.pop_back();
    return map;
  }
};

/// Rows that a layer makes itself, less those of negative coordinates; of the rest every pair.
class NegativeTargetsLost : public Healthy {
 public:
  using Healthy::Healthy;
  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    LayerMap map = Healthy::map(layer, source, target);
    if (target != nullptr || layer.kind == Kind::Submanifold) return map;
    std::vector<std::int64_t> number(map.target.size(), -1);
    Rows kept;
    for (std::size_t i = 0; i < map.target.size(); ++i) {
      if (std::ranges::min(map.target[i].at) < 0) continue;
      number[i] = static_cast<std::int64_t>(kept.size());
      kept.push_back(map.target[i]);
    }
    map.target = std::move(kept);
    for (auto& tap : map.pairs) {
      for (auto& pair : tap) pair[1] = number[static_cast<std::size_t>(pair[1])];
      std::erase_if(tap, [](const auto& pair) { return pair[1] < 0; });
    }
    return map;
  }
};

class PaddingForgotten : public Healthy {
 public:
  using Healthy::Healthy;
  Triple our_padding(const Layer&) const override { return {0, 0, 0}; }
};

template <class Faulty>
std::unique_ptr<Dialect> made(const Dialect& dialect) {
  return std::make_unique<Faulty>(dialect);
}

struct Planted {
  std::string_view name;
  std::unique_ptr<Dialect> (*make)(const Dialect& dialect);
};
constexpr std::array<Planted, 9> kPlanted{{
    {"none", made<Healthy>},
    {"dialect/two-axes-are-one", made<TwoAxesAreOne>},
    {"dialect/coarse-unit-of-the-fine", made<CoarseUnitOfTheFine>},
    {"dialect/last-tap-is-the-first", made<LastTapIsTheFirst>},
    {"dialect/taps-backwards", made<TapsBackwards>},
    {"dialect/weights-of-one-plane", made<WeightsOfOnePlane>},
    {"dialect/last-pair-lost", made<LastPairLost>},
    {"dialect/negative-targets-lost", made<NegativeTargetsLost>},
    {"dialect/padding-forgotten", made<PaddingForgotten>},
}};

}  // namespace

std::vector<std::string> dialect_faults() {
  std::vector<std::string> names;
  for (const Planted& each : kPlanted) names.emplace_back(each.name);
  return names;
}

const Dialect& dialect_with_fault(const std::string& fault, std::string_view name) {
  static std::map<std::pair<std::string, std::string>, std::unique_ptr<Dialect>> all;
  const auto* const planted = std::ranges::find(kPlanted, fault, &Planted::name);
  if (planted == kPlanted.end())
    refuse(ErrorKind::InvalidArgument, std::string(name), "fault", fault,
           "must be one of dialect_faults()");
  auto& made = all[{fault, std::string(name)}];
  if (!made) made = planted->make(dialect(name));
  return *made;
}

}  // namespace leafproof::faults
