#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# pfqd-lab and bootstrap as their users meet them: errors that name what is
# accepted and leave nothing behind, resuming, Ctrl-C, a full disk, and the
# commands that the README shows. Ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
lab=$PWD/build/bin/pfqd-lab
work=$(mktemp -d)
mounted=
cleanup() {
	[ -z "$mounted" ] || umount "$mounted"
	rm -rf "$work"
}
trap cleanup EXIT
# Guests of this test run in scratch directories of its own, so that others on
# the machine do not count.
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
no_guest() { ! ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -q " $TMPDIR/"; }
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); echo "ok - $1"; }
fail() { failed=$((failed + 1)); echo "not ok - $1"; sed 's/^/    /' "$work/out" | tail -n 15; }
skip() { skipped=$((skipped + 1)); echo "ok - $1 # SKIP $2"; }
check() { local name=$1; shift; if "$@" >/dev/null 2>&1; then pass "$name"; else fail "$name"; fi; }

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

short=(run e1 --cell w4:50 --duration 1 --out "$work/r")

# --- help and wrong usage
expect "help has examples" 0 "Examples:" "$lab" --help
expect "help of run lists configurations" 0 "fq_codel +CUBIC" "$lab" run --help
expect "help of run lists parameters" 0 "connection +how a message" "$lab" run --help
expect "no command" 2 "subcommand" "$lab"
expect "unknown command" 2 "." "$lab" nonsense
expect "unknown experiment" 2 "'e9' is none of e1" "$lab" run e9 --out "$work/r"
expect "unknown cell" 2 "expected w1..w5" "$lab" run e1 --cell w9:50 --out "$work/r"
expect "load over 100 %" 2 "from 0.01 to 100" "$lab" run e1 --cell w4:130 --out "$work/r"
expect "unknown configuration" 2 "is none of fifo, dctcp, fq_codel, pfqd" "$lab" "${short[@]}" --config fif0
expect "unknown parameter" 2 "is none of host_qdisc" "$lab" "${short[@]}" --set colour=red
expect "impossible value" 2 "mtu: '12' is not a number from 576" "$lab" "${short[@]}" --set mtu=12
expect "parameter of another configuration" 2 "runs no pfqd" "$lab" "${short[@]}" --config fifo --set pfqd.quantum=3000
expect "a side without pfqd" 2 "port.long_us: this configuration runs no pfqd" "$lab" "${short[@]}" --config dctcp --set port.long_us=20
expect "impossible depth" 2 "depth_us: 5000 gives 0 samples of 16 ports in 1 ms" "$lab" "${short[@]}" --config fifo --set depth_us=5000
expect "too many hosts on the internet" 2 "internet: '99' is not a number from 0 to 16" "$lab" "${short[@]}" --config ct --set internet=99
expect "bad seeds" 2 "--seeds" "$lab" "${short[@]}" --seeds one
expect "bad duration" 2 "duration" "$lab" run e1 --duration -3 --out "$work/r"
expect "bad jobs" 2 "jobs" "$lab" "${short[@]}" --jobs 0
expect "unknown selftest group" 2 "is none of" "$lab" selftest nonsense
expect "report of nothing" 1 "." "$lab" report "$work/nothing"
expect "kernel version that is none" 1 "is not of the form" "$lab" kernel --version six
check "wrong usage writes nothing" test ! -e "$work/r"

# --- a missing kernel
expect "missing kernel says how to build it" 1 "pfqd-lab kernel --version 6.1" \
	env PFQD_CACHE="$work/empty" "$lab" "${short[@]}"
check "and writes nothing" test ! -e "$work/r"

# --- a run, again, and more of it
expect "a run" 0 "done in" "$lab" "${short[@]}" --config fifo
check "raw log" test -s "$work/r/runs/w4_50-fifo-s1.jsonl"
check "a line a decile" test "$(wc -l < "$work/r/results.jsonl")" -ge 5
check "summary" grep -q '"config": "fifo"' "$work/r/summary.json"
before=$(sha256sum "$work/r/runs/w4_50-fifo-s1.jsonl")
expect "a finished run is not repeated" 0 "1 of 2 runs are already there" "$lab" "${short[@]}" --config fifo,pfqd
check "and stays as it is" test "$before" = "$(sha256sum "$work/r/runs/w4_50-fifo-s1.jsonl")"
expect "the table has both" 0 "pfqd" "$lab" report "$work/r"
check "the report is one file" test -s "$work/r/report.html"
check "without outside references" bash -c "! grep -qE '(src|href)=.?https?:' $work/r/report.html"
expect "report as JSON" 0 '"cells"' "$lab" report "$work/r" --json
expect "GSO is a variant of its own" 0 "w4_50-fifo-gso=on-s1 done" "$lab" "${short[@]}" --config fifo --set gso=on
expect "and so are timestamps" 0 "timestamps=on-s1 done" "$lab" "${short[@]}" --config fifo --set timestamps=on
expect "a damaged run file is named" 1 "w4_50-fifo-s1.json" \
	bash -c "cp -r $work/r $work/d && echo '{' > $work/d/runs/w4_50-fifo-s1.json && $lab report $work/d"
expect "the depth of ports" 0 "depth_us=20-s1 done" "$lab" "${short[@]}" --config ct40ecn --set depth_us=20
expect "and its table" 0 "Depth of the switch's ports" "$lab" report "$work/r"
expect "bulk flows to the internet" 0 "internet=1-s1 done" "$lab" "${short[@]}" --config ct40ecn --set internet=1
expect "and what they got" 0 "w4:50 +internet=1 +ct40ecn +1 +in +1 " "$lab" report "$work/r"
expect "several hardware queues" 0 "queues=2-s1 done" "$lab" "${short[@]}" --config ct --set queues=2
check "are counted one by one" grep -q host_queues "$work/r/runs/w4_50-ct-queues=2-s1.json"
expect "DCTCP really runs" 0 "w4_50-dctcp-s1 done" "$lab" "${short[@]}" --config dctcp
check "and its ports mark" bash -c "grep -A40 '\"config\": \"dctcp\"' $work/r/summary.json | grep -q '\"marks\": [1-9]'"

# --- the debug kernel runs an experiment without a splat
expect "an experiment in the debug kernel" 0 "done in" "$lab" run e1 --cell w4:80 --config pfqd --duration 1 \
	--debug --stall 600 --out "$work/debug"

check "no guest is left" no_guest

# --- Ctrl-C
"$lab" run e1 --cell w4:50 --config fifo,pfqd,dctcp,fq_codel --seeds 1-9 --duration 6 --jobs 2 --out "$work/i" > "$work/out" 2>&1 &
pid=$!
for _ in $(seq 600); do [ -e "$work/i/runs/w4_50-fifo-s1.json" ] && break; sleep 0.1; done
kill -INT $pid
wait $pid
check "Ctrl-C: exit status 130" test $? -eq 130
check "Ctrl-C: what is finished is kept" test -s "$work/i/runs/w4_50-fifo-s1.json"
check "Ctrl-C: and is in the summary" grep -q '"config": "fifo"' "$work/i/summary.json"
check "Ctrl-C: no half file" bash -c "! ls $work/i/runs $work/i | grep -qvE '\.(json|jsonl)$|^runs$|^$|:$'"
check "Ctrl-C: no guest is left" no_guest
check "Ctrl-C: no scratch directory is left" bash -c "! ls -d $TMPDIR/pfqd-lab.* 2>/dev/null"

# --- a full disk
if [ "$(id -u)" = 0 ] && mkdir -p "$work/full" && mount -t tmpfs -o size=64k tmpfs "$work/full" 2>/dev/null; then
	mounted=$work/full
	expect "a full disk is an error" 1 "[Nn]o space|disk" "$lab" run e1 --cell w4:50 --config fifo --duration 4 --out "$work/full"
	check "and leaves no half run" bash -c "! ls $work/full/runs | grep -q ."
else
	skip "a full disk" "only root can mount a small file system"
fi

# --- the set-up
expect "bootstrap has nothing to do" 0 "are installed" scripts/bootstrap
expect "bootstrap --dry-run" 0 "are installed|would run: apt-get" scripts/bootstrap --dry-run
expect "bootstrap: unknown option" 2 "usage" scripts/bootstrap --nonsense
fake=$work/fake
mkdir -p "$fake"
printf '#!/bin/sh\nexit 1\n' > "$fake/dpkg-query"
printf '#!/bin/sh\necho 1000\n' > "$fake/id"
printf '#!/bin/sh\nexit 1\n' > "$fake/sudo"
chmod +x "$fake"/*
expect "bootstrap without root prints the apt command" 1 "apt-get install -y --no-install-recommends g\+\+" \
	env PATH="$fake:$PATH" scripts/bootstrap

# --- the README's commands exist
while read -r target; do
	check "README: make $target" make -n "$target"
done < <(grep -oE '^ *make [a-z]+' README.md | awk '{print $2}' | sort -u)
while read -r command; do
	expect "README: pfqd-lab $command" 0 "." "$lab" "$command" --help
done < <(grep -oE 'pfqd-lab [a-z]+' README.md Documentation/*.rst | awk '{print $NF}' | sort -u)

line="$passed passed, $failed failed"
[ "$skipped" -eq 0 ] || line="$line, $skipped skipped"
echo "$line"
[ "$failed" -eq 0 ]
