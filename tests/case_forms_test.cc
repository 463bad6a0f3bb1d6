// Written cases: text, JSON and bytes come back exactly, for every operation and every generated
// case; what is not one is refused by one Error that names the field and the value.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "oracle/case_bytes.h"
#include "oracle/case_json.h"
#include "oracle/case_text.h"
#include "oracle/choice_source.h"
#include "oracle/generate.h"
#include "reference/error.h"
#include "tests/case_support.h"

namespace leafproof::oracle {
namespace {

using reference::Error;
using reference::ErrorKind;
using tests::SameCase;

Case from_bytes(const std::string& bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return read_case_bytes({data, bytes.size()});
}
std::string as_bytes(const Case& c) {
  const auto bytes = write_case_bytes(c);
  return {bytes.begin(), bytes.end()};
}

/// A form as functions, so that all three are held to the same.
struct Form {
  const char* name;
  std::string (*write)(const Case&);
  Case (*read)(const std::string&);
};
const Form kForms[] = {
    {"text", write_case_text, [](const std::string& s) { return read_case_text(s); }},
    {"json", write_case_json, [](const std::string& s) { return read_case_json(s); }},
    {"bytes", as_bytes, from_bytes},
};

Case small(Op op) {
  Case c;
  c.op = op;
  c.source = {{{{0, 0, 0}, {0, 0, 7}}, {}}, {Map{}, Map{}}, {"", ""}};
  return c;
}

TEST(CaseForms, EveryGeneratedCaseComesBackExactly) {
  std::size_t written = 0;
  for (const Op op : generated_ops())
    for (std::uint64_t number = 0; number < 300; ++number) {
      const Case c = generate(op, 11, number);
      for (const Form& form : kForms) {
        const std::string text = form.write(c);
        const Case back = form.read(text);
        ASSERT_TRUE(SameCase::same(c, back)) << form.name << ": " << c.id << " " << c.comment;
        ASSERT_EQ(form.write(back), text.substr(0, text.size())) << form.name << ": " << c.id;
        ++written;
      }
    }
  EXPECT_EQ(written, generated_ops().size() * 300 * 3);
}

TEST(CaseForms, IdAndCommentAreKeptByJsonAlone) {
  Case c = small(Op::Dual);
  c.id = "an id";
  c.comment = "why \"it\"\n is there";
  const Case back = read_case_json(write_case_json(c));
  EXPECT_EQ(back.id, c.id);
  EXPECT_EQ(back.comment, c.comment);
  EXPECT_EQ(read_case_text(write_case_text(c)).id, "");
  EXPECT_EQ(write_case_text(c).find('\n'), std::string::npos);
}

TEST(CaseForms, OddNumbersAndNamesComeBackBitForBit) {
  const double odd[] = {std::nan(""),
                        -std::nan(""),
                        std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity(),
                        -0.0,
                        5e-324,
                        1.0 / 3,
                        1e308};
  Case c = small(Op::Convolution);
  c.operands.features = {{8, 1}, {std::begin(odd), std::end(odd)}};
  c.operands.weights = {{}, {std::bit_cast<double>(0x7FF8000000000123u)}};
  c.operands.bias = reference::Array{{0}, {}};
  c.operands.type = NumberType::Float16;
  c.source.maps[1] = {{-0.0, std::nan(""), 0.1}, {1e-300, -1, 0}};
  c.target = Batch{};
  c.view = std::vector<std::int64_t>{};
  for (const Form& form : kForms)
    EXPECT_TRUE(SameCase::same(c, form.read(form.write(c)))) << form.name << ": " << form.write(c);
  c.source.names = {"\xC3\xBA ,;=%[]'\"\\ \t", std::string("\0x", 2)};
  for (const Form& form : kForms)
    EXPECT_TRUE(SameCase::same(c, form.read(form.write(c)))) << form.name;
  c.source.names[0] = "\xFF\xFE";  // no UTF-8: JSON has no text for it, and says so
  EXPECT_TRUE(SameCase::same(c, read_case_text(write_case_text(c))));
  EXPECT_TRUE(SameCase::same(c, from_bytes(as_bytes(c))));
  EXPECT_THROW(write_case_json(c), Error);
}

TEST(CaseForms, MapAfterAndEmptyBatchesComeBack) {
  Case c;
  c.op = Op::MapAfter;
  c.mapped = Op::Coarsen;
  c.factor = {2, 3, 4};
  for (const Form& form : kForms) EXPECT_TRUE(SameCase::same(c, form.read(form.write(c))));
  EXPECT_EQ(write_case_text(c), "case1 map_after factor=2,3,4 operation=coarsen source=-");
}

TEST(CaseForms, TextIsShortAndForPeople) {
  Case c = small(Op::Refine);
  c.factor = {2, 2, 2};
  EXPECT_EQ(write_case_text(c), "case1 refine factor=2 source=[0,0,0;0,0,7][]");
  // Any order and any white space; one number for all axes.
  const Case back = read_case_text("  case1  refine\n source=[0,0,0;0,0,7][] \t factor=2,2,2\n");
  EXPECT_TRUE(SameCase::same(c, back));
}

/// The Error of an input, which must be Corrupt.
reference::ErrorDetail refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Corrupt) << error.what();
    return error.detail();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(CaseForms, RefusalsOfTextNameFieldAndValue) {
  const struct {
    const char *text, *field, *value;
  } all[] = {
      {"", "version", ""},
      {"case2 dual source=-", "version", "case2"},
      {"case1", "op", ""},
      {"case1 melt source=-", "op", "melt"},
      {"case1 dual", "source", ""},
      {"case1 dual source", "field", "source"},
      {"case1 dual source=- source=-", "source", "-"},
      {"case1 dual source=- factor=2", "factor", "2"},
      {"case1 dual source=- colour=2", "colour", "2"},
      {"case1 refine source=- factor=2,2", "factor", "2,2"},
      {"case1 refine source=- factor=2,2,x", "factor", "x"},
      {"case1 refine source=- factor=9223372036854775808", "factor", "9223372036854775808"},
      {"case1 dual source=[0,0,2147483648]", "source", "2147483648"},
      {"case1 dual source=[0,0]", "source", "0,0"},
      {"case1 dual source=[0,0,0;]", "source", ""},
      {"case1 dual source=[0,0,0", "source", "[0,0,0"},
      {"case1 dual source=", "source", ""},
      {"case1 dual source=[0,0,1;0,0,0]", "source", "0,0,0"},
      {"case1 dual source=[0,0,1;0,0,1]", "source", "0,0,1"},
      {"case1 dual source=[] source_maps=1,1,1", "source_maps", "1,1,1"},
      {"case1 dual source=[] source_maps=1,1,1@0,0,0;1,1,1@0,0,0", "source_maps", "2"},
      {"case1 dual source=[] source_maps=1,1,1@0,0,1e999", "source_maps", "1e999"},
      {"case1 dual source=[] source_names=a,b", "source_names", "2"},
      {"case1 dual source=[] source_names=a%2", "source_names", "a%2"},
      {"case1 prune source=[0,0,0] mask=[2]", "mask", "2"},
      {"case1 prune source=[0,0,0] mask=1", "mask", "1"},
      {"case1 dual source=[] view=0,,0", "view", ""},
      {"case1 kernel_map source=- transposed=yes", "transposed", "yes"},
      {"case1 kernel_map source=- type=float16", "type", "float16"},
      {"case1 convolution source=- type=float8", "type", "float8"},
      {"case1 convolution source=- features=2x1", "features", "2x1"},
      {"case1 convolution source=- features=2x1:1,nan_0000000000000000", "features",
       "nan_0000000000000000"},
      {"case1 merge source=- other_maps=1,1,1@0,0,0", "other_maps", "1,1,1@0,0,0"},
  };
  for (const auto& c : all) {
    const auto detail = refusal([&] { read_case_text(c.text); });
    EXPECT_EQ(detail.argument, c.field) << c.text;
    EXPECT_EQ(detail.value, c.value) << c.text;
    EXPECT_FALSE(detail.reason.empty()) << c.text;
  }
}

TEST(CaseForms, RefusalsOfJsonNameFieldAndValue) {
  const std::string head = R"({"format":"leafproof-case","version":1,"semantics_version":1,)";
  const struct {
    std::string text;
    const char *field, *value;
  } all[] = {
      {"", "the text", "byte 1"},
      {"[]", "the text", "[]"},
      {R"({"format":"leafproof-vectors"})", "format", R"("leafproof-vectors")"},
      {R"({"format":"leafproof-case","version":2})", "version", "2"},
      {head + R"("op":"melt","params":{},"source":[]})", "op", R"("melt")"},
      {head + R"("op":"dual","params":[],"source":[]})", "params", "[]"},
      {head + R"("op":"dual","params":{}})", "source", ""},
      {head + R"("op":"dual","params":{},"source":[],"source":[]})", "source", ""},
      {head + R"("op":"dual","params":{"lo":[0,0,0]},"source":[]})", "lo", "[0,0,0]"},
      {head + R"("op":"dual","params":{},"lo":1,"source":[]})", "lo", "1"},
      {head + R"("op":"dual","params":{},"colour":1,"source":[]})", "colour", "1"},
      {head + R"("op":"refine","params":{"factor":2},"source":[]})", "factor", "2"},
      {head + R"("op":"refine","params":{"factor":[2,2,1.5]},"source":[]})", "factor", "1.5"},
      {head + R"("op":"dual","params":{},"source":[[[0,0,2147483648]]]})", "source", "2147483648"},
      {head + R"("op":"dual","params":{},"source":[[[0,0,1],[0,0,0]]]})", "source", "0,0,0"},
      {head + R"("op":"prune","params":{},"source":[[]],"mask":[[2]]})", "mask", "2"},
      {head + R"("op":"dual","params":{},"source":[],"id":7})", "id", "7"},
      {head + R"("op":"dual","params":{},"source":[[]],"source_names":[]})", "source_names", "0"},
      {head + R"("op":"dual","params":{},"source":[[]],"source_maps":[{}]})", "source_maps", "{}"},
      {head +
           R"("op":"convolution","params":{},"source":[],"features":{"shape":[1],"values":["1"]}})",
       "features", R"("1")"},
  };
  for (const auto& c : all) {
    const auto detail = refusal([&] { read_case_json(c.text); });
    EXPECT_EQ(detail.argument, c.field) << c.text;
    EXPECT_EQ(detail.value, c.value) << c.text;
  }
}

TEST(CaseForms, BytesHaveOneEncodingAndEndWhereTheyEnd) {
  const std::string good = as_bytes(small(Op::Dual));
  EXPECT_LE(good.size(), 20u);
  for (std::size_t end = 0; end < good.size(); ++end)
    EXPECT_THROW(from_bytes(good.substr(0, end)), Error) << end;
  EXPECT_EQ(refusal([&] { from_bytes(good + '\0'); }).argument, "the end");
  std::string other = good;
  other[3] = 2;
  EXPECT_EQ(refusal([&] { from_bytes(other); }).argument, "version");
  other = good;
  other[4] = 18;
  EXPECT_EQ(refusal([&] { from_bytes(other); }).argument, "op");
  // A factor that is the default, written out; a number with a byte of zeros before it.
  Case refine = small(Op::Refine);
  refine.factor = {3, 3, 3};
  other = as_bytes(refine);
  other[6] = other[7] = other[8] = 2;
  EXPECT_EQ(refusal([&] { from_bytes(other); }).argument, "the encoding");
  other = as_bytes(refine);
  other.insert(8, 1, static_cast<char>(0x80));
  EXPECT_EQ(refusal([&] { from_bytes(other); }).argument, "the encoding");
  // Counts that no memory holds are refused before anything is allocated.
  other = good.substr(0, 5) + "\x81\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F";
  EXPECT_EQ(refusal([&] { from_bytes(other); }).argument, "source");
}

TEST(CaseForms, WhatAnOperationDoesNotTakeIsNotWritten) {
  Case c = small(Op::Dual);
  c.factor = {2, 2, 2};
  for (const Form& form : kForms) {
    const auto detail = refusal([&] { form.write(c); });
    EXPECT_EQ(detail.argument, "factor") << form.name;
  }
  c = small(Op::Dual);
  c.source.names.pop_back();
  for (const Form& form : kForms)
    EXPECT_EQ(refusal([&] { form.write(c); }).argument, "source_names") << form.name;
}

// Any damage is one Error or a case that comes back exactly; nothing else, and no crash.
TEST(CaseForms, MutatedInputIsRefusedOrReadExactly) {
  constexpr std::uint64_t kSeed = 5;
  std::int64_t refused = 0, read = 0;
  for (const Form& form : kForms)
    for (const Op op : generated_ops())
      for (std::uint64_t number = 0; number < 24; ++number) {
        ChoiceSource choices{kSeed, static_cast<std::uint64_t>(op), number};
        const std::string good = form.write(generate(op, kSeed, number));
        if (good.size() > 4000) continue;
        for (int mutant = 0; mutant < 24; ++mutant) {
          std::string text = good;
          const auto size = static_cast<std::int64_t>(text.size());
          for (std::int64_t edits = choices.between(1, 3); edits > 0; --edits) {
            const auto at = static_cast<std::size_t>(choices.between(0, size - 1)) % text.size();
            const std::int64_t kind = choices.between(0, 3);
            if (kind == 0)
              text[at] = static_cast<char>(choices.between(0, 255));
            else if (kind == 1)
              text[at] = choices.pick({'0', '-', ',', ';', '9', '[', ']', '\x80'});
            else if (kind == 2)
              text.erase(at, static_cast<std::size_t>(choices.between(1, 4)));
            else
              text.insert(at, text.substr(at / 2, static_cast<std::size_t>(choices.between(1, 9))));
            if (text.empty()) text.assign(1, ' ');
          }
          try {
            const Case c = form.read(text);
            ++read;
            ASSERT_TRUE(SameCase::same(c, form.read(form.write(c))))
                << form.name << ", seed " << kSeed << ": " << text;
          } catch (const Error& error) {
            ++refused;
            ASSERT_EQ(error.kind(), ErrorKind::Corrupt) << error.what();
            ASSERT_FALSE(error.detail().argument.empty()) << error.what();
          }
        }
      }
  EXPECT_GT(refused, 10'000);
  EXPECT_GT(read, 1'000);
}

}  // namespace
}  // namespace leafproof::oracle
