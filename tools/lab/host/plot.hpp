// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// From data to a picture: gnuplot draws, the result is an <svg> element that can stand
// inside a web page beside others.
#pragma once

#include <string>

namespace pfqd::lab {

// Runs gnuplot, without a shell and without the user's settings, and returns what it
// printed. Throws with gnuplot's own message, or with the way to install it.
std::string run_gnuplot(const std::string& script);

// A gnuplot script's SVG, ready for HTML. `id` keeps the names inside apart from those
// of other pictures, `description` is what a screen reader says.
std::string svg_plot(const std::string& script, const std::string& id, const std::string& description);

}  // namespace pfqd::lab
