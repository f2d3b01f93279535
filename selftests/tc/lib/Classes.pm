# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# Backlogged flows as classes.
package Classes;
use strict;
use warnings;
use Bench;
use Socket;
use Statistics qw(slow_port send_udp);
use Tap;

sub test {
	section('classes');
	slow_port('c0');
	is('none while idle', scalar(() = text() =~ /^class pfqd/mg), 0);
	send_udp(AF_INET, '10.0.0.9', 9, 9, 900);	# on its way at once
	for (1 .. 5) {
		send_udp(AF_INET, '10.0.0.2', 1234, 80, 458);	# frames of 500 bytes
		send_udp(AF_INET6, 'fd00::2', 5353, 53, 438);
	}
	sleep 1;

	# Two have left since, and the shaper has peeked at a third.
	my $qdisc = shown('c0', '-s');
	is('packets queued', $qdisc->{qlen}, 8);

	my $text = text();
	my $rest = qr/ tier low age 1\.0\ds memory \w+$/m;
	like('text: IPv4', $text, qr/^ +10\.0\.0\.1:1234 > 10\.0\.0\.2:80 udp$rest/m);
	like('text: IPv6', $text, qr/^ +\[fd00::1\]:5353 > \[fd00::2\]:53 udp$rest/m);
	is('text: two of them', scalar(() = $text =~ /^class pfqd 2:/mg), 2);

	# Older tc, of iproute2 6.1 for one, have no JSON for classes, -j or not.
	if ((tc('-j -s class show dev c0'))[1] =~ /^\[/) {
		json($qdisc);
	} else {
		like('text also with -j, from this tc', (tc('-j -s class show dev c0'))[1],
		     qr/^ +10\.0\.0\.1:1234 > 10\.0\.0\.2:80 udp$rest/m);
	}
	sleep 6;
	is('none when drained', scalar(() = text() =~ /^class pfqd/mg), 0);
	run(qw(ip link del c0));
}

sub text {
	my ($status, $out, $err) = tc('-s class show dev c0');
	die "status $status: $err" if $status || $err ne '';
	return $out;
}

sub json {
	my ($qdisc) = @_;
	my @classes = grep { $_->{class} eq 'pfqd' } @{tc_json('-s', 'class show dev c0')};
	my %by_source = map { $_->{flow}{src} => $_ }
		map { { %$_, %{$_->{stats} // {}} } } @classes;
	is('one class a backlogged flow', [sort keys %by_source], ['10.0.0.1', 'fd00::1']);
	my ($v4, $v6) = @by_source{'10.0.0.1', 'fd00::1'};
	is('IPv4 tuple', [@{$v4->{flow}}{qw(src sport dst dport protocol ethertype)}],
	   ['10.0.0.1', 1234, '10.0.0.2', 80, 17, 0x0800]);
	is('IPv6 tuple', [@{$v6->{flow}}{qw(src sport dst dport protocol ethertype)}],
	   ['fd00::1', 5353, 'fd00::2', 53, 17, 0x86dd]);
	is('packets: all but what is peeked at', $v4->{qlen} + $v6->{qlen}, $qdisc->{qlen} - 1);
	is('bytes: of frames of 500', [map { $_->{backlog} / $_->{qlen} } $v4, $v6], [500, 500]);
	is('tier', [map { $_->{flow}{tier} } $v4, $v6], ['low', 'low']);
	ok($v4->{flow}{age_ns} >= 1_000_000_000 && $v4->{flow}{age_ns} < 1_010_000_000,
	   'age', $v4->{flow}{age_ns});
	is('memory', $v4->{flow}{memory} + $v6->{flow}{memory}, $qdisc->{pfqd}{memory});
}

1;
