# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# TCP of this host through pfqd, on the loopback device, in every setting of stamp and
# completion: what is on the wire, and that the tables of bands and classes are the
# data tiers once more, told apart in another way.
package Sockets;
use strict;
use warnings;
use Bench;
use Socket;
use Tap;

use constant { AF_PACKET => 17, ETH_P_IP => 0x0800, SO_SNDBUFFORCE => 32, SO_RCVBUFFORCE => 33 };

my $bytes = 2_000_000;	# more than the last edge
my ($fin, $pool) = (1, 3);

# Packets as they arrive, one for each GSO packet.
sub capture {
	socket my $socket, AF_PACKET, SOCK_DGRAM, unpack('S', pack('n', ETH_P_IP)) or die "packet: $!";
	setsockopt $socket, SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20 or die "SO_RCVBUFFORCE: $!";
	return $socket;
}

# DSCPs of the TCP packets that are no control: with data, or a FIN.
sub data_dscps {
	my ($socket) = @_;
	my @dscps;
	while (defined recv $socket, my $packet, 128, MSG_DONTWAIT) {
		my ($head, $tos, $length, $protocol) = unpack 'C C n x5 C', $packet;
		my $l4 = ($head & 15) * 4;
		next if $protocol != Socket::IPPROTO_TCP || length $packet < $l4 + 20;
		my ($offset, $flags) = unpack "x$l4 x12 C C", $packet;
		push @dscps, $tos >> 2 if $length > $l4 + ($offset >> 4) * 4 || $flags & $fin;
	}
	return @dscps;
}

# One connection, one large write, one reader.
sub transfer {
	socket my $listener, AF_INET, SOCK_STREAM, 0 or die "socket: $!";
	bind $listener, pack_sockaddr_in(0, INADDR_LOOPBACK) or die "bind: $!";
	listen $listener, 1 or die "listen: $!";
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		socket my $socket, AF_INET, SOCK_STREAM, 0 or exit 1;
		setsockopt $socket, SOL_SOCKET, SO_SNDBUFFORCE, 8 << 20 or exit 1;
		connect $socket, getsockname $listener or exit 1;
		require POSIX;
		POSIX::_exit((syswrite($socket, 'x' x $bytes) // 0) != $bytes);
	}
	accept my $reader, $listener or die "accept: $!";
	my ($got, $part) = (0, '');
	while (my $size = sysread $reader, $part, 1 << 16) { $got += $size; }
	close $reader;
	waitpid $pid, 0;
	die "$got bytes, status $?" if $? || $got != $bytes;
	sleep 1;
}

# Traffic through a new pfqd with these options: statistics, DSCPs, text.
sub observe {
	my ($typed) = @_;
	my ($status, $out, $err) = tc("qdisc add dev lo root pfqd $typed");
	die "$typed: $err" if $status;
	my $socket = capture();
	transfer();
	my @result = (shown('lo', '-s')->{pfqd}, [data_dscps($socket)], (tc('-s qdisc show dev lo'))[1]);
	tc('qdisc del dev lo root');
	return @result;
}

sub sum { my $sum = 0; $sum += $_ for @_; return $sum; }

sub total { my ($field, @rows) = @_; return sum(map { $_->{$field} } @rows); }

# Packets, GSO packets as one, by bucket of the histogram.
sub buckets {
	my @all;
	for my $row (@_) {
		my $packets = $row->{sojourn}{packets};
		$all[$_] += $packets->[$_] for 0 .. $#$packets;
	}
	return \@all;
}

sub check_sums {
	my ($what, $pfqd) = @_;
	my @tiers = @{$pfqd->{tiers}}{qw(high low)};
	my @bands = values %{$pfqd->{bands}};
	for my $field (qw(packets bytes)) {
		my $want = total($field, @tiers);
		is("$what: $field of the bands are the data tiers'", total($field, @bands), $want);
		is("$what: and of the classes", total($field, values %{$pfqd->{classes}}), $want);
	}
	is("$what: and how long they waited", buckets(@bands), buckets(@tiers));
	ok(total('bytes', @tiers) > $bytes, "$what: all that was sent is in them");
}

# Packets by the band that the wire shows, and as the table counts them.
sub check_wire {
	my ($what, $pfqd, $dscps) = @_;
	my %seen = map { $_ => 0 } keys %{$pfqd->{bands}};
	for my $dscp (@$dscps) {
		my $band = $dscp >> 2 & 7;
		$seen{($dscp & 3) == $pool && $band < 6 ? $band : 'none'}++;
	}
	is("$what: the table's bands are those on the wire",
	   { map { $_ => sum(@{$pfqd->{bands}{$_}{sojourn}{packets}}) } keys %seen }, \%seen);
}

sub test_on {
	my ($pfqd, $dscps, $text) = observe('stamp on completion on');
	check_sums('on', $pfqd);
	check_wire('on', $pfqd, $dscps);
	ok($pfqd->{stamps} > @$dscps, 'on: ACKs are stamped too', "$pfqd->{stamps}, data " . @$dscps);
	is('on: nothing failed', $pfqd->{stamp_failures}, 0);
	is('on: no data without a stamp',
	   [map { $_->{packets} } $pfqd->{bands}{none}, $pfqd->{classes}{none}], [0, 0]);
	ok($pfqd->{bands}{$_}{packets} > 0, "on: band $_", $text) for 0, 5;
	ok($pfqd->{serves_banded} > 0, 'on: turns for a band', $pfqd->{serves_banded});
	like('on: and people see the share', $text,
	     qr/ serves: banded $pfqd->{serves_banded} ordinary \d+$/m);
	unlike('on: and no row of packets without a stamp', $text, qr/^ +none /m);
}

sub test_local {
	my ($pfqd, $dscps, $text) = observe('stamp local completion on');
	check_sums('local', $pfqd);
	ok($pfqd->{stamps} > @$dscps, 'local: stamps', $pfqd->{stamps});
	is('local: this queue knows all bands', $pfqd->{bands}{none}{packets}, 0);
	is('local: no packet shows it', [grep { $_ } @$dscps], []);
	ok(@$dscps > 0, 'local: and there were some', scalar @$dscps);
	like('local: the table', $text, qr/^ +band +packets /m);
}

# Stamps for others to read.
sub test_unread {
	my ($pfqd, $dscps, $text) = observe('stamp on completion off');
	is('unread: all data is stamped', [grep { ($_ & 3) != $pool } @$dscps], []);
	ok(@$dscps > 0 && $pfqd->{stamps} > @$dscps, 'unread: stamps', $pfqd->{stamps});
	is('unread: in no table',
	   [map { total('packets', values %{$pfqd->{$_}}) } qw(bands classes)], [0, 0]);
	is('unread: no turn for a band', $pfqd->{serves_banded}, 0);
	unlike("unread: people do not see the $_", $text, qr/$_/) for '  band ', '  class ', ' serves:';
}

# A port that reads, and no host that stamps.
sub test_unstamped {
	my ($pfqd, $dscps, $text) = observe('stamp off completion on');
	check_sums('unstamped', $pfqd);
	is('unstamped: no stamps', $pfqd->{stamps}, 0);
	is('unstamped: none on the wire', [grep { $_ } @$dscps], []);
	is('unstamped: all data is without band and class',
	   [map { $_->{packets} } $pfqd->{bands}{none}, $pfqd->{classes}{none}],
	   [(total('packets', @{$pfqd->{tiers}}{qw(high low)})) x 2]);
	unlike('unstamped: people see no table of it', $text, qr/^ +(band|class) /m);
}

sub test {
	section('TCP');
	Bench::must('ip link set lo mtu 1500 up');
	test_on();
	test_local();
	test_unread();
	test_unstamped();
	Bench::must('ip link set lo mtu 65536 down');
}

1;
