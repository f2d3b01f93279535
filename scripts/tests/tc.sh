#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# The tc plugin without a kernel: that every supported tc has what it calls and
# loads it, its numbers, its texts, hostile attributes, 32-bit compilation, and the pages.
# The rest is in selftests/tc. Ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
plugin=build/tc/q_pfqd.so
page=Documentation/man/tc-pfqd.8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); echo "ok - $1"; }
fail() { failed=$((failed + 1)); echo "not ok - $1"; sed 's/^/    /' "$work/out" | tail -n 15; }
skip() { skipped=$((skipped + 1)); echo "ok - $1 # SKIP $2"; }
# check NAME COMMAND...: the command succeeds
check() { local name=$1; shift; if "$@" > "$work/out" 2>&1; then pass "$name"; else fail "$name"; fi; }
# silent NAME COMMAND...: it succeeds and says nothing
silent() {
	local name=$1
	shift
	if "$@" > "$work/out" 2>&1 && [ ! -s "$work/out" ]; then pass "$name"; else fail "$name"; fi
}

# --- the plugin and each tc
exports() { nm -D --defined-only "$1" | awk '{ print $NF }' | sed 's/@.*//' | sort -u; }
# What is to come from tc: all that has no version of the C library.
calls() { nm -D --undefined-only "$plugin" | awk '$1 == "U" && $2 !~ /@/ { print $2 }' | sort -u; }
one_symbol() { exports "$plugin"; [ "$(exports "$plugin")" = pfqd_qdisc_util ]; }
calls_in() { comm -23 <(calls) <(exports "$1"); }
help_of() { TC_LIB_DIR=$PWD/build/tc "$1" qdisc add dev lo root pfqd help 2>&1; }
has_help() { help_of "$1" > "$work/help"; cat "$work/help"; grep -q '^ *limit SIZE  *bytes' "$work/help"; }

check "the plugin exports pfqd_qdisc_util and nothing else" one_symbol
check "and calls functions of tc" test "$(calls | wc -l)" -ge 10
for suite in host trixie forky; do
	tc=build/tc/$suite/tc binary=build/tc/$suite/tc.bin
	[ $suite != host ] || { tc=$(command -v tc); binary=$tc; }
	if [ ! -x "$tc" ]; then
		skip "tc of $suite" "$(cat "build/tc/$suite.missing" 2>/dev/null || echo "no $tc; run scripts/tc-versions")"
		continue
	fi
	silent "tc of $suite has every function that the plugin calls" calls_in "$binary"
	check "tc of $suite loads the plugin" has_help "$tc"
done

# --- its parts
for test in values texts hostile; do
	if check "test-$test is built" make -s "build/tc/test-$test"; then
		check "$test" "build/tc/test-$test"
		sed 's/^/    /' "$work/out"
	fi
done

# --- other word sizes
if printf '#include <%s>\n' stdio.h arpa/inet.h linux/rtnetlink.h | gcc -m32 -fsyntax-only -xc - 2>/dev/null; then
	silent "32-bit compilation" gcc -m32 -std=gnu11 -Wall -Wextra -Werror -fsyntax-only \
		-Iinclude/uapi -Itools/tc tools/tc/*.c
else
	skip "32-bit compilation" "no 32-bit C library headers (gcc-multilib)"
fi

# --- the man page
if command -v groff > /dev/null; then
	silent "the man page has no error for groff" groff -man -Tutf8 -ww -z "$page"
else
	skip "the man page has no error for groff" "groff is not installed"
fi
if command -v mandoc > /dev/null; then
	silent "the man page has no error for mandoc" mandoc -T lint -W warning "$page"
else
	skip "the man page has no error for mandoc" "mandoc is not installed"
fi

# The page's text without its macros.
plain() { sed -e '/^\.\\"/d' -e 's/^\.[A-Z]* *//' -e 's/\\f[BIR]//g' -e 's/\\-/-/g' "$page" | tr '\n"' '  ' | tr -s ' '; }
number() { sed -n "s/^#define PFQD_$1[ \t]*\([0-9]*\).*/\1/p" include/uapi/linux/pkt_sch_pfqd.h; }
plain > "$work/plain"
while read -r option range default; do
	check "the man page has $option" grep -qE "(^| )$option( |\$)" "$work/plain"
	[ -z "$range" ] || check "the man page has $option's range and default" \
		grep -qiE "$range[^.]*, defaults? [^.]*$default" "$work/plain"
done < <(help_of tc | awk '
	/^  [a-z]/ { name = $1; next }
	/ \.\. / { sub(/,.*;|;/, ""); print name, $1 ".to." $3, $NF; next }
	/^ +default/ { print name }' | tr '|' ' ' | awk '
	/\.to\./ { print; next }
	{ for (i = 1; i <= NF; i++) print $i }')
check "the man page has the floor of a flow" grep -q "$(number FLOW_FLOOR)" "$work/plain"
check "the man page has the number of shared FIFOs" grep -q "$(number SHARED_FIFOS) shared" "$work/plain"
check "the man page has the most classes" grep -q "$(number CLASSES_MAX)" "$work/plain"

# --- the stamp's numbers, in both documents
rst=Documentation/sch_pfqd.rst
stamp=include/uapi/linux/pfqd_stamp.h
tr -d , < "$rst" > "$work/rst"
edges=$(sed -n 's/^#define PFQD_BAND_EDGES[^{]*{ *\(.*\) }.*/\1/p' $stamp | tr -d ,)
check "the header has edges of bands" test "$(wc -w <<< "$edges")" -ge 1
for edge in $edges; do
	check "the man page has the edge $edge" grep -qE "(^| )$edge[ ,]" "$work/plain"
	check "sch_pfqd.rst has the edge $edge" grep -qE "^[0-9] +$edge " "$work/rst"
done
check "sch_pfqd.rst has the share of the bands" grep -q "$(number BANDED_SERVES):1" "$work/rst"
check "nothing is announced that is here" sh -c "! grep -in 'not here yet' $rst $page"

line="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || line="$line, $skipped skipped"
echo "$line"
[ "$failed" -eq 0 ]
