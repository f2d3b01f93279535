# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# The examples of tc-pfqd(8), as they stand there, on a device with four queues.
package Examples;
use strict;
use warnings;
use FindBin;
use Bench;
use Tap;

# How many pfqd there are after each of them.
my @pfqds = (4, 1, 1, 1, 1, 1, 0);

sub blocks {
	my $path = "$FindBin::RealBin/../../../Documentation/man/tc-pfqd.8";
	open my $in, '<', $path or die "$path: $!";
	my $page = do { local $/; <$in> };
	return map { s/\\-/-/gr =~ s/\\e$/\\/gmr } $page =~ /^\.EX\n(.*?)^\.EE$/msg;
}

sub test {
	section('examples of the man page');
	my @blocks = blocks();
	is('as many as are known here', scalar @blocks, scalar @pfqds);
	Bench::must('ip link add eth0 numtxqueues 4 type dummy');
	Bench::must('ip link set eth0 up');
	local $ENV{TC} = $Bench::tc;
	for my $block (@blocks) {
		my ($name) = $block =~ /^(.*)/;
		my ($status, $out, $err) = run('sh', '-ec', "tc() { command \"\$TC\" \"\$@\"; }\n$block");
		ok(!$status && $err eq '', "'$name' succeeds", "status $status: $err");
		my $shown = (tc('qdisc show dev eth0'))[1];
		is("'$name': pfqds", scalar(() = $shown =~ /^qdisc pfqd/mg), shift @pfqds);
		tc('qdisc del dev eth0 root');
	}
	run(qw(ip link del eth0));
}

1;
