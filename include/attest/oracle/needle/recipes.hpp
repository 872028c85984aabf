// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Recipes of needles: calls each of which shows many faults, and together all that an input can
// show within the extents.
//
// Why these: heads 6/2 and 28/4, since with 4/2 a wrong map may be right by chance; a batch of two;
// more queries than keys and fewer; one key more than a tile; odd widths and values of another
// width; scores that rise, so that a running maximum moves in every tile, and a common level far
// below 0, so that a key of zeros outweighs all; rows without keys; and magnitudes beyond what exp
// and float16 hold.
#pragma once
#include <attest/oracle/needle/build.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

struct RecipeList {
  std::vector<Recipe> recipes;

  Recipe& add(std::string aim, std::size_t batches, std::size_t query_heads,
              std::size_t key_value_heads, std::size_t queries, std::size_t keys, std::size_t width,
              std::size_t value_width) {
    Recipe r;
    r.aim = std::move(aim);
    r.batches = batches;
    r.query_heads = query_heads;
    r.key_value_heads = key_value_heads;
    r.queries = queries;
    r.keys = keys;
    r.width = width;
    r.value_width = value_width;
    r.seed = recipes.size() + 1;
    recipes.push_back(std::move(r));
    return recipes.back();
  }
};

}  // namespace detail

inline std::vector<Recipe> needle_recipes() {
  detail::RecipeList list;
  {
    Recipe& r = list.add("all that may be asked for at once", 1, 6, 2, 64, 96, 8, 5);
    r.general = true;
    r.causality = Causality::bottom_right;
    r.left = 23;
    r.softcap = 4;
    r.mask = MaskKind::boolean;
    r.empty_rows = true;
    r.sink = -1;
    r.scale = 0.5;
    r.log_sum_exp = true;
    r.scores = {-3, 2, 4, 1.5};
  }
  {
    Recipe& r = list.add("more queries than keys", 2, 6, 2, 64, 33, 7, 4);
    r.general = true;
    r.log_sum_exp = true;
    r.scores = {-6, 5, 4, 1};
  }
  {
    Recipe& r = list.add("causal, the first query at the first key", 1, 4, 2, 64, 96, 5, 6);
    r.causality = Causality::top_left;
    r.log_sum_exp = true;
    r.scores = {-4, 6, 4, 1};
  }
  {
    Recipe& r = list.add("causal, the last query at the last key", 2, 3, 1, 64, 96, 4, 3);
    r.causality = Causality::bottom_right;
    r.log_sum_exp = true;
    r.base = LogBase::two;
    r.scores = {-4, 4, 4, 1};
  }
  {
    Recipe& r =
        list.add("more causal queries than keys: the first ones see none", 1, 2, 2, 64, 31, 8, 8);
    r.causality = Causality::bottom_right;
    r.log_sum_exp = true;
  }
  {
    Recipe& r = list.add("a window to both sides", 1, 2, 1, 64, 64, 6, 6);
    r.left = 5;
    r.right = 2;
    r.scores = {-5, 0, 5, 1};
  }
  {
    Recipe& r =
        list.add("a window of the query's own key and three after it", 1, 2, 1, 24, 40, 3, 2);
    r.left = 0;
    r.right = 3;
    r.log_sum_exp = true;
    r.scores = {2, 0, 3, 1};
  }
  {
    Recipe& r = list.add("a causal window beside keys before it", 1, 2, 1, 64, 80, 4, 4);
    r.causality = Causality::bottom_right;
    r.left = 16;
    r.scores = {-4, 3, 4, 1};
  }
  {
    Recipe& r = list.add("a cap, scores above and below it", 1, 2, 1, 64, 37, 6, 6);
    r.softcap = 2;
    r.log_sum_exp = true;
    r.scores = {0, 0, 4, 3};
  }
  {
    Recipe& r =
        list.add("a boolean mask of its own for each batch entry and head", 2, 4, 2, 64, 24, 4, 5);
    r.mask = MaskKind::boolean;
    r.empty_rows = true;
    r.hidden = 0.4;
    r.log_sum_exp = true;
    r.scores = {-4, 0, 4, 1};
  }
  {
    Recipe& r = list.add("a square boolean mask, the same in all heads", 2, 2, 1, 64, 64, 3, 3);
    r.mask = MaskKind::boolean;
    r.mask_axes = {true, false, true};
    r.hidden = 0.4;
  }
  {
    Recipe& r =
        list.add("a boolean mask of keys alone that hides whole tiles", 2, 2, 1, 9, 70, 4, 3);
    r.mask = MaskKind::boolean;
    r.mask_axes = {true, false, false};
    r.hidden = 0.1;
    r.hides_runs = true;
    r.scores = {-3, 3, 3, 1};
  }
  {
    Recipe& r = list.add("an added mask of finite numbers and -inf", 2, 3, 3, 64, 34, 5, 4);
    r.mask = MaskKind::added;
    r.empty_rows = true;
    r.scale = 0.3125;
    r.log_sum_exp = true;
  }
  {
    Recipe& r = list.add("an added mask, some of its rows the lowest number, beside causality", 1,
                         2, 1, 64, 64, 4, 4);
    r.mask = MaskKind::added;
    r.lowest = true;
    r.causality = Causality::top_left;
    r.scores = {0, 0, 2, 1};
  }
  {
    Recipe& r = list.add("sinks as high as scores", 1, 6, 2, 64, 20, 6, 4);
    r.sink = 1;
    r.log_sum_exp = true;
    r.scale = 0.6875;
  }
  {
    Recipe& r = list.add("sinks far above all scores", 1, 3, 1, 64, 9, 4, 4);
    r.sink = 95;
    r.log_sum_exp = true;
  }
  {
    Recipe& r = list.add("slopes of six heads, causal", 1, 6, 2, 64, 96, 4, 3);
    r.slopes = true;
    r.causality = Causality::bottom_right;
    r.log_sum_exp = true;
    r.scale = 0.625;
  }
  {
    Recipe& r = list.add("slopes without causality, beside a cap", 1, 4, 4, 24, 16, 5, 5);
    r.slopes = true;
    r.softcap = 5;
  }
  {
    Recipe& r = list.add("28 query heads on 4", 1, 28, 4, 3, 7, 4, 2);
    r.general = true;
    r.log_sum_exp = true;
  }
  {
    Recipe& r = list.add("key/value heads in turn", 2, 6, 3, 64, 9, 4, 4);
    r.head_map = HeadMap::tiled;
  }
  {
    Recipe& r = list.add("one query", 2, 4, 2, 1, 65, 8, 8);
    r.general = true;
    r.causality = Causality::bottom_right;
    r.log_sum_exp = true;
    r.scores = {-6, 8, 2, 1};
  }
  {
    Recipe& r = list.add("one key", 1, 2, 1, 5, 1, 3, 4);
    r.general = true;
    r.log_sum_exp = true;
  }
  {
    Recipe& r = list.add("width 1", 2, 2, 1, 9, 11, 1, 1);
    r.general = true;
    r.log_sum_exp = true;
  }
  {
    Recipe& r = list.add("causal scores from 1000 to 3400: each key outweighs all before it", 1, 2,
                         2, 64, 96, 6, 6);
    r.general = true;
    r.causality = Causality::top_left;
    r.log_sum_exp = true;
    r.scores = {1000, 2400, 3, 1};
  }
  {
    Recipe& r = list.add("scores near -1000: e^score is 0", 1, 2, 2, 64, 24, 6, 6);
    r.general = true;
    r.log_sum_exp = true;
    r.scores = {-1000, 3, 3, 1};
  }
  {
    Recipe& r =
        list.add("scores of -1.5·2^126, all alike, half of the keys hidden", 1, 2, 1, 64, 24, 4, 4);
    r.mask = MaskKind::boolean;
    r.hidden = 0.5;
    r.scale = 0x1p100;
    r.scores = {-0x1.8p126, 0, 0, 0};
  }
  {
    Recipe& r =
        list.add("scores of -2^18, all alike, half of the keys hidden", 1, 2, 1, 64, 24, 4, 4);
    r.mask = MaskKind::boolean;
    r.hidden = 0.5;
    r.scores = {-0x1p18, 0, 0, 0};
  }
  {
    Recipe& r = list.add("q·k beyond float16, the scale small", 1, 2, 1, 64, 17, 8, 4);
    r.scale = 0x1p-14;
    r.scores = {20, 2, 2, 1};
  }
  {
    Recipe& r = list.add("values near the largest number", 1, 1, 1, 64, 19, 4, 4);
    r.extreme = r.largest_values = true;
    r.scores = {0, 0, 1, 0.5};
  }
  {
    Recipe& r = list.add("many keys of like scores, values of one sign", 1, 2, 1, 64, 96, 4, 4);
    r.general = true;
    r.one_sign = true;
    r.scores = {0, 0, 0, 0.3};
  }
  {
    Recipe& r = list.add("gradients of everything", 2, 2, 1, 64, 40, 4, 3);
    r.causality = Causality::bottom_right;
    r.left = 19;
    r.softcap = 3;
    r.sink = 0;
    r.gradients = true;
    r.log_sum_exp = true;
    r.scores = {0, 0, 2, 1};
  }
  {
    Recipe& r = list.add("gradients by an added mask", 2, 3, 1, 40, 12, 5, 5);
    r.mask = MaskKind::added;
    r.mask_axes = {false, true, true};
    r.empty_rows = true;
    r.gradients = true;
    r.log_sum_exp = true;
    r.scale = 0.375;
    r.scores = {200, 0, 2, 1};
  }
  {
    Recipe& r =
        list.add("a cap beyond float16, scores that it bends a little", 1, 1, 1, 8, 9, 4, 4);
    r.softcap = 70000;
    r.log_sum_exp = true;
    r.scores = {4000, 0, 3, 1};
  }
  {
    Recipe& r = list.add("a cache and new keys", 2, 2, 1, 64, 96, 6, 4);
    r.about_keys = true;
    r.past = 32;
    r.causality = Causality::bottom_right;
    r.scores = {-3, 2, 3, 1};
  }
  {
    Recipe& r = list.add("a cache, nothing hidden", 2, 2, 1, 5, 21, 4, 4);
    r.about_keys = true;
    r.past = 16;
  }
  {
    Recipe& r =
        list.add("lengths of each batch entry, what is beyond them large", 2, 2, 1, 64, 45, 4, 4);
    r.about_keys = r.lengths = true;
    r.large_beyond = true;
    r.causality = Causality::bottom_right;
  }
  {
    Recipe& r =
        list.add("lengths of each batch entry, one of them whole pages", 2, 4, 2, 64, 39, 4, 4);
    r.about_keys = r.lengths = r.full_pages = true;
    r.scores = {-3, 1, 3, 1};
  }
  {
    Recipe& r =
        list.add("as many queries as keys, rows without keys the mean", 1, 2, 2, 64, 64, 4, 4);
    r.mask = MaskKind::boolean;
    r.empty_rows = true;
    r.empty_row = EmptyRow::mean;
  }
  {
    Recipe& r = list.add("as many queries as keys", 1, 2, 2, 64, 64, 4, 4);
    r.one_sign = true;
  }
  {
    Recipe& r = list.add("lengths of each batch entry, NaN beyond them", 2, 2, 1, 64, 9, 4, 4);
    r.about_keys = r.lengths = true;
    r.nan_beyond = true;
  }
  return list.recipes;
}

}  // namespace attest::oracle
