# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# Statistics of known traffic. A shaper above pfqd lets a frame of 1000 bytes pass a
# second, so that packets wait, for times that are exact here.
package Statistics;
use strict;
use warnings;
use Bench;
use JSON::PP;
use Socket;
use Tap;
use Exporter 'import';
our @EXPORT_OK = qw(slow_port send_udp);

my $payload = 1000 - 42;	# Ethernet, IPv4 and UDP headers

# A device whose queue drains at 8 kbit/s: 1000 bytes a second.
sub slow_port {
	my ($dev) = @_;
	make_dummy($dev);
	Bench::must("ip addr add 10.0.0.1/24 dev $dev");
	Bench::must("ip -6 addr add fd00::1/64 dev $dev nodad");
	for my $command ("qdisc add dev $dev root handle 1: tbf rate 8kbit burst 1000 limit 100000",
			 "qdisc add dev $dev parent 1:1 handle 2: pfqd") {
		my ($status, $out, $err) = tc($command);
		die "$command: $err" if $status;
	}
}

sub send_udp {
	my ($family, $address, $sport, $dport, $size, $tos) = @_;
	socket my $socket, $family, SOCK_DGRAM, 0 or die "socket: $!";
	setsockopt $socket, Socket::IPPROTO_IP, Socket::IP_TOS, $tos or die "TOS: $!" if $tos;
	my ($from, $to) = $family == AF_INET ?
		(pack_sockaddr_in($sport, INADDR_ANY),
		 pack_sockaddr_in($dport, inet_aton($address))) :
		(pack_sockaddr_in6($sport, Socket::IN6ADDR_ANY),
		 pack_sockaddr_in6($dport, Socket::inet_pton($family, $address)));
	bind $socket, $from or die "bind: $!";
	defined send $socket, 'x' x $size, 0, $to or die "send: $!";
}

sub test {
	section('statistics');
	slow_port('s0');
	my $idle = shown('s0', '-s')->{pfqd};
	ok(ref $idle eq 'HASH', 'there are statistics') or return;
	is('idle: all tiers are there', [sort keys %{$idle->{tiers}}], [qw(control high low)]);

	# The first frame leaves at once. The second the shaper has peeked at: it is
	# queued for tc, and in no tier any more. The others wait.
	send_udp(AF_INET, '10.0.0.2', 1234, 80, $payload) for 1 .. 6;
	socket my $tcp, AF_INET, SOCK_STREAM, 0 or die;
	require Fcntl;
	fcntl $tcp, &Fcntl::F_SETFL, &Fcntl::O_NONBLOCK;
	connect $tcp, pack_sockaddr_in(80, inet_aton('10.0.0.2'));	# a SYN

	my $stats = shown('s0', '-s');
	my ($pfqd, $tiers) = ($stats->{pfqd}, $stats->{pfqd}{tiers});
	is('queued: packets of tc are those of the tiers and one', $stats->{qlen},
	   $tiers->{control}{backlog_packets} + $tiers->{high}{backlog_packets} + 1);
	is('queued: bytes of tc are those of the tiers and its', $stats->{backlog},
	   $tiers->{control}{backlog_bytes} + $tiers->{high}{backlog_bytes} + 1000);
	is('queued: data packets', $tiers->{high}{backlog_packets}, 4);
	is('queued: data bytes', $tiers->{high}{backlog_bytes}, 4000);
	is('queued: the SYN', $tiers->{control}{backlog_packets}, 1);
	is('active flows', $pfqd->{flows_active}, 1);
	ok($pfqd->{memory} > 4000, 'memory is more than the bytes', $pfqd->{memory});

	close $tcp;	# before it repeats its SYN, which kernels do at different times
	sleep 8;	# in virtual time: all have left
	$stats = shown('s0', '-s');
	($pfqd, $tiers) = ($stats->{pfqd}, $stats->{pfqd}{tiers});
	is('drained: nothing queued', $stats->{qlen}, 0);
	is('drained: no memory', $pfqd->{memory}, 0);
	is('drained: data packets', $tiers->{high}{packets} + $tiers->{low}{packets}, 6);
	is('drained: data bytes', $tiers->{high}{bytes} + $tiers->{low}{bytes}, 6000);
	is('the flow was demoted', $pfqd->{demotions}, 1);
	is('bytes of tc and of the tiers', $stats->{bytes},
	   $tiers->{control}{bytes} + $tiers->{high}{bytes} + $tiers->{low}{bytes});
	is("no $_", $pfqd->{$_}, 0)
		for qw(marks drops_limit drops_memlimit drops_budget unmarkable overflow_packets
		       alloc_failures segmented);
	ok($pfqd->{cycles} > 0, 'cycles');
	ok($pfqd->{flows_allocated} > 0, 'allocated flows');
	ok($pfqd->{rate} > 0, 'a rate', $pfqd->{rate});
	like('and where it comes from', $pfqd->{rate_source}, qr/^(assumed|measured)$/);
	is('completion', $pfqd->{completion}, $JSON::PP::false);
	is('and who says so', $pfqd->{completion_source}, 'inherit');
	check_sojourn($tiers);

	tc('qdisc change dev s0 parent 1:1 handle 2: pfqd rate 8kbit completion on');
	$pfqd = shown('s0', '-s')->{pfqd};
	is('rate by option', [@$pfqd{qw(rate rate_source)}], [1000, 'option']);
	is('completion by option', [@$pfqd{qw(completion completion_source)}], [$JSON::PP::true, 'on']);
	check_text();
	check_drops();
	run(qw(ip link del s0));
}

sub sum { my $sum = 0; $sum += $_ for @_; return $sum; }

# The histogram: bounds that double, one bucket more than bounds, every packet in it.
sub check_sojourn {
	my ($tiers) = @_;
	for my $name (qw(control high low)) {
		my $sojourn = $tiers->{$name}{sojourn};
		my ($below, $packets) = @$sojourn{qw(below packets)};
		is("$name: unit", $sojourn->{unit}, 'ns');
		is("$name: bounds double from 1024", $below, [map { 1024 * 2 ** $_ } 0 .. $#$below]);
		is("$name: the last bucket has none", scalar @$packets, @$below + 1);
		is("$name: every packet is counted", sum(@$packets), $tiers->{$name}{packets});
	}
	# Behind a SYN, which takes 74 ms, four data packets left a second apart; the
	# shaper took each when it peeked, the last after 4.07 s.
	my $p99 = $tiers->{low}{sojourn}{p99};
	my $p50 = $tiers->{low}{sojourn}{p50};
	ok(defined $p99 && $p99->{from} <= 4.1e9 && ($p99->{below} // 1e10) > 3e9, 'p99 of low',
	   JSON::PP->new->encode($tiers->{low}));
	ok(defined $p50 && $p50->{from} < $p99->{from}, 'p50 is below it',
	   JSON::PP->new->encode($tiers->{low}));
}

# The same for people: a table with a row a tier, then the counters.
sub check_text {
	my ($status, $text, $err) = tc('-s qdisc show dev s0');
	my $pfqd = shown('s0', '-s')->{pfqd};
	my $number = qr/-|[<>]=?[\d.]+[mun]?s/;
	like('text: head of the table', $text, qr/^ +tier +packets +bytes +backlog-p +backlog-b +wait-p50 +wait-p99$/m);
	for my $name (qw(control high low)) {
		my ($packets, $bytes) = @{$pfqd->{tiers}{$name}}{qw(packets bytes)};
		like("text: row $name", $text, qr/^ +$name +$packets +$bytes +0 +0 +$number +$number$/m);
	}
	like('text: marks and drops', $text,
	     qr/^ +marks 0 drops: limit 0 memlimit 0 budget 0 \(unmarkable 0\)$/m);
	like('text: flows', $text,
	     qr/^ +flows: active 0 allocated \d+ demotions 1 overflow 0p alloc_failures 0$/m);
	like('text: memory', $text, qr/^ +memory 0b cycles \d+ segmented 0$/m);
	like('text: stamps', $text, qr/^ +stamps 0 failures 0 serves: banded 0 ordinary \d+$/m);
	like('text: rate, completion, stamp', $text,
	     qr/^ +rate 8Kbit \(option\) completion on \(option\) stamp off \(module parameter\)$/m);
	unlike('text: no table of bands where no packet had one', $text, qr/^ +band /m);
	unlike('text: nor of classes', $text, qr/^ +class /m);
	is('text: nothing on stderr', $err, '');
}

# Drops by cause.
sub check_drops {
	tc('qdisc change dev s0 parent 1:1 handle 2: pfqd limit 3000');
	eval { send_udp(AF_INET, '10.0.0.2', 1234, 80, $payload) } for 1 .. 8;
	my $stats = shown('s0', '-s');
	my $drops = $stats->{pfqd}{drops_limit};
	ok($drops > 0, 'drops of the limit', $drops);
	is('are drops of tc', $stats->{drops}, $drops);
	is('and the limit holds, beside what is peeked at', $stats->{backlog}, 3000 + 1000);
}

1;
