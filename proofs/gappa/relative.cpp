// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// relative < SCRIPT: a script of Gappa without mul_rel<53>, add_rel<53> and sub_rel<53>, which it
// knows before 1.5 only. Each becomes a variable, and that its relative error is at most 2^-53 one
// more hypothesis. The scripts give these operators names: @product = mul_rel<53>;
#include <cstddef>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace {

const std::map<std::string, char> operators{
    {"mul_rel<53>", '*'}, {"add_rel<53>", '+'}, {"sub_rel<53>", '-'}};

class Script {
 public:
  explicit Script(std::string text) : text_(std::move(text)) {
    known_ = operators;
    for (const auto& [name, sign] : operators)
      for (std::size_t end; (end = text_.find(" = " + name + ";")) != std::string::npos;) {
        const std::size_t from = text_.rfind('@', end);
        known_[text_.substr(from + 1, end - from - 1)] = sign;
        text_.erase(from, text_.find('\n', end) + 1 - from);
      }
  }

  // The innermost ones first: nothing after the last has another inside.
  std::string without_operators() {
    while (replace_last()) {
    }
    if (!hypotheses_.empty()) text_.insert(text_.find("->"), hypotheses_);
    return text_;
  }

 private:
  bool replace_last() {
    std::size_t at = 0, open = 0;
    char sign = 0;
    for (const auto& [name, its_sign] : known_)
      if (const std::size_t found = text_.rfind(name + '(');
          found != std::string::npos && found >= at) {
        at = found;
        open = found + name.size();
        sign = its_sign;
      }
    if (sign == 0) return false;
    std::size_t comma = 0, end = open + 1;
    for (int depth = 1; depth > 0; ++end) {
      depth += (text_[end] == '(') - (text_[end] == ')');
      if (text_[end] == ',' && depth == 1) comma = end;
    }
    const std::string variable = "rounded" + std::to_string(++count_);
    hypotheses_ += "/\\ |" + variable + " -/ (" + text_.substr(open + 1, comma - open - 1) + ' ' +
                   sign + text_.substr(comma + 1, end - comma - 2) + ")| <= 1b-53\n";
    text_.replace(at, end - at, variable);
    return true;
  }

  std::string text_, hypotheses_;
  std::map<std::string, char> known_;
  std::size_t count_ = 0;
};

}  // namespace

int main() {
  std::cout << Script({std::istreambuf_iterator<char>(std::cin), {}}).without_operators();
}
