# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# Forwarded flows above their budget: marks and drops in the table of the RTT classes.
# Frames come in through a veth and are routed to the slow port; a flow each of class
# short and none, which can be marked, and of class long, which cannot.
package Budgets;
use strict;
use warnings;
use Bench;
use Socket;
use Sockets;
use Statistics qw(slow_port);
use Tap;

use constant { AF_PACKET => 17, ETH_P_IP => 0x0800, UDP => 17 };

my $ect0 = 2;
my ($short, $long) = (7, 15);	# codes without a band: their flows share evenly
my $size = 986;			# IP bytes of a frame of 1000
my $frames = 80;		# 15 more than a flow may queue

sub sum16 {
	my $sum = 0;
	$sum += $_ for unpack 'n*', $_[0];
	$sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
	return ~$sum & 0xffff;
}

sub datagram {
	my ($port, $tos) = @_;
	my @head = (0x45, $tos, $size, 0, 0, 64, UDP, 0, inet_aton('10.9.0.1'), inet_aton('10.0.0.2'));
	my $layout = 'C2 n3 C2 n a4 a4';
	$head[7] = sum16(pack $layout, @head);
	return pack("$layout n4", @head, $port, 9, $size - 20, 0) . "\0" x ($size - 28);
}

# As if from a neighbour on the other end of the veth.
sub forward {
	my ($port, $tos) = @_;
	my ($mac) = Bench::must('ip -o link show v0') =~ m{link/ether (\S+)};
	my ($index) = Bench::must('ip -o link show v1') =~ /^(\d+):/;
	socket my $socket, AF_PACKET, SOCK_RAW, 0 or die "packet: $!";
	my $to = pack 'S n l S C C a8', AF_PACKET, ETH_P_IP, $index, 0, 0, 6, '';
	my $frame = pack('H12 x6 n', $mac =~ tr/://dr, ETH_P_IP) . datagram($port, $tos);
	for (1 .. $frames) { defined send $socket, $frame, 0, $to or die "send: $!"; }
}

sub make_route {
	slow_port('b0');
	Bench::must('ip link add v0 type veth peer name v1');
	Bench::must("ip link set $_ up") for qw(v0 v1);
	Bench::must('ip addr add 10.9.0.254/24 dev v0');
	write_file("/proc/sys/net/ipv4/$_", $_ eq 'ip_forward' ? 1 : 0)
		for qw(ip_forward conf/all/rp_filter conf/v0/rp_filter);
	tc('qdisc change dev b0 parent 1:1 handle 2: pfqd completion on');
}

sub some { return $_[0] > 10 ? 'some' : $_[0]; }

sub test {
	section('budgets');
	make_route();
	forward(1, $short << 4 | 3 << 2 | $ect0);
	forward(2, $long << 4 | 3 << 2);
	forward(3, $ect0);
	sleep 60;
	my $pfqd = shown('b0', '-s')->{pfqd};
	my @classes = @{$pfqd->{classes}}{qw(short long none)};
	is('marked: short and none', [map { some($_->{marks}) } @classes], ['some', 0, 'some']);
	is('dropped: long', [map { some($_->{drops}) } @classes], [0, 'some', 0]);
	is('marks add up', Sockets::total('marks', @classes), $pfqd->{marks});
	is('drops add up', Sockets::total('drops', @classes), $pfqd->{drops_budget});
	my $text = (tc('-s qdisc show dev b0'))[1];
	my $row = qr/ +\d+ +\d+ +(\d+) +(\d+)$/m;
	my @shown = map { [map { $_ + 0 } $text =~ /^ +$_$row/m] } qw(short long none);
	is('and people see them', \@shown, [map { [@$_{qw(marks drops)}] } @classes]);
	write_file('/proc/sys/net/ipv4/ip_forward', 0);
	run(qw(ip link del), $_) for qw(v0 b0);
}

1;
