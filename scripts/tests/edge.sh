#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# pfqdctl edge without the lab's kernel: the command line, the BPF object, the man
# page, and on this machine's own kernel, where it permits it, attach and detach in a
# network namespace and what the program costs a packet. The rest is in selftests/edge.
# Ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ctl=$PWD/build/bin/pfqdctl
bench=$PWD/build/bin/edge-bench
object=build/gen/pfqdctl/edge.bpf.o
page=Documentation/man/pfqdctl.8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); echo "ok - $1"; }
fail() { failed=$((failed + 1)); echo "not ok - $1"; sed 's/^/    /' "$work/out" | tail -n 15; }
skip() { skipped=$((skipped + 1)); echo "ok - $1 # SKIP $2"; }
check() { local name=$1; shift; if "$@" > "$work/out" 2>&1; then pass "$name"; else fail "$name"; fi; }
silent() {
	local name=$1
	shift
	if "$@" > "$work/out" 2>&1 && [ ! -s "$work/out" ]; then pass "$name"; else fail "$name"; fi
}
# expect NAME STATUS PATTERN COMMAND...: exit status and text on stdout or stderr
expect() {
	local name=$1 status=$2 pattern=$3 got
	shift 3
	"$@" > "$work/out" 2>&1 < /dev/null
	got=$?
	if [ "$got" -eq "$status" ] && grep -qE -- "$pattern" "$work/out"; then
		pass "$name"
	else
		echo "    (exit status $got, wanted $status and /$pattern/)"
		fail "$name"
	fi
}

# --- the command line
expect "help has examples" 0 "Examples:" "$ctl" --help
expect "help of edge has examples" 0 "Examples:" "$ctl" edge --help
expect "no command" 2 "needs one of edge" "$ctl"
expect "unknown command" 2 "'egde' is not one of edge" "$ctl" egde show
expect "unknown verb" 2 "'start' is not one of attach, detach, show" "$ctl" edge start lo
expect "unknown option" 2 "--trusted" "$ctl" edge attach lo --trusted
expect "no device" 2 "DEV is required" "$ctl" edge detach
expect "unknown device names those there are" 1 "no device 'nonesuch'.*lo" "$ctl" edge attach nonesuch
expect "show of loopback without the edge" 3 "lo: edge is not attached" "$ctl" edge show lo
full() { "$ctl" edge show > /dev/full; }
expect "a full disk is an error" 1 "standard output" full
expect "edge-bench: help" 0 "Examples:" "$bench" --help
expect "edge-bench: impossible value" 2 "--rounds" "$bench" --rounds 0

# --- the BPF object: nothing that needs a kernel's BTF, one program a mode and layer
if command -v readelf > /dev/null; then
	programs() { [ "$(readelf -sW "$object" | awk '$4 == "FUNC" { print $8 }' | sort | tr '\n' ' ')" = "$1" ]; }
	check "the object has four programs" programs "pfqd_edge pfqd_edge_l3 pfqd_edge_l3tr pfqd_edge_trust "
fi

# --- this machine's own kernel
if unshare -n true 2>/dev/null && unshare -n "$ctl" edge attach lo > "$work/out" 2>&1; then
	life() {
		unshare -n bash -ec '
			ip link set lo up
			"$0" edge attach lo
			echo hello > /dev/udp/127.0.0.1/9
			"$0" edge show lo --json | grep -qE "\"stamped\": [1-9]"
			"$0" edge attach lo --trust | grep -q "changed to mode trust"
			"$0" edge detach lo | grep -q "removed"
			test -z "$(tc filter show dev lo ingress)"' "$ctl"
	}
	check "its life on kernel $(uname -r)" life
	check "edge-bench on kernel $(uname -r)" "$bench" --rounds 3 --repeat 200000
	sed 's/^/    /' "$work/out"
else
	skip "attach on this machine's kernel" "$(tail -n 1 "$work/out" 2>/dev/null || echo "no permission")"
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
plain() { sed -e '/^\.\\"/d' -e 's/^\.[A-Z]* *//' -e 's/\\f[BIR]//g' -e 's/\\-/-/g' "$page" | tr '\n"' '  ' | tr -s ' '; }
plain > "$work/plain"
for word in $("$ctl" edge attach --help | grep -oE '^ +(-h,)?--[a-z]+' | sed 's/.*--/--/'); do
	check "the man page has $word" grep -qE -- "(^| )$word( |\$)" "$work/plain"
done
check "the man page has the place of the filter" grep -q \
	"priority $(sed -n 's/.*kEdgePriority = \([0-9]*\);.*/\1/p' tools/pfqdctl/edge.hpp)," "$work/plain"
for handle in $(grep -oE '0x[0-9a-f]{8}' tools/pfqdctl/edge.hpp); do
	check "the man page has $handle" grep -q "$handle" "$work/plain"
done

line="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || line="$line, $skipped skipped"
echo "$line"
[ "$failed" -eq 0 ]
