# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# The stamp and the completion tier as tc shows them: what is in force and who says
# so, bands and classes of known traffic, a backlogged flow's band.
package Stamps;
use strict;
use warnings;
use Bench;
use Fcntl;
use JSON::PP;
use Socket;
use Statistics qw(slow_port send_udp);
use Tap;

my $parameters = '/sys/module/sch_pfqd/parameters';
my ($long, $no_band) = (8, 7);	# of the code, uapi/linux/pfqd_stamp.h

sub tos { return ($_[0] << 2 | 3) << 2; }	# of a code

sub change {
	my ($status, $out, $err) = tc("qdisc change dev m0 parent 1:1 handle 2: pfqd $_[0]");
	die "change $_[0]: $err" if $status;
}

sub text { return (tc('-s qdisc show dev m0'))[1]; }

# What is in force and what says so, in JSON and for people.
sub effective {
	my ($what, %want) = @_;
	my $pfqd = shown('m0', '-s')->{pfqd};
	my ($completion, $stamp) = @want{qw(completion stamp)};
	is("$what, as JSON", [@$pfqd{qw(completion completion_source stamp stamp_source)}],
	   [$completion->[0] eq 'on' ? $JSON::PP::true : $JSON::PP::false, $completion->[1], @$stamp]);
	my ($c, $s) = map { "$_->[0] (" . ($_->[1] eq 'inherit' ? 'module parameter' : 'option') . ')' }
		$completion, $stamp;
	like("$what, as text", text(), qr/ completion \Q$c\E stamp \Q$s\E$/m);
}

# Each parameter moves its own setting, and that only where no option says otherwise.
sub test_settings {
	my @words = qw(off on);
	for my $values ([0, 0], [1, 0], [0, 1], [1, 1]) {
		my @parameters = ('completion', $values->[0], 'stamp', $values->[1]);
		my ($completion, $stamp) = map { [$words[$_], 'inherit'] } @$values;
		write_file("$parameters/completion", $values->[0]);
		write_file("$parameters/stamp", $values->[1]);
		effective("@parameters", completion => $completion, stamp => $stamp);
		for my $word (qw(off on local)) {
			change("stamp $word");
			effective("@parameters, option stamp $word",
				  completion => $completion, stamp => [$word, $word]);
		}
		change('stamp inherit');
		for my $word (@words) {
			change("completion $word");
			effective("@parameters, option completion $word",
				  completion => [$word, $word], stamp => $stamp);
		}
		change('completion inherit');
	}
}

# Frames of 1000 bytes: codes, each with how many.
my %sent = (0 => 2, 5 => 1, $long | 5 => 2, $no_band => 1, $long | $no_band => 1);

sub send_all {
	my $port = 1000;
	send_udp(AF_INET, '10.0.0.9', 9, 9, 958);	# on its way at once
	for my $code (sort { $b <=> $a } keys %sent) {
		send_udp(AF_INET, '10.0.0.2', $port + $code, 80, 958, tos($code)) for 1 .. $sent{$code};
	}
}

sub test_tables {
	change('completion on stamp on');
	my $before = shown('m0', '-s')->{pfqd};
	is('bands, all there', [sort keys %{$before->{bands}}], [qw(0 1 2 3 4 5 none)]);
	is('classes, all there', [sort keys %{$before->{classes}}], [qw(long none short)]);
	send_all();
	check_flows();
	sleep 12;

	my $pfqd = shown('m0', '-s')->{pfqd};
	my $bands = $pfqd->{bands};
	is('packets by band', [map { $bands->{$_}{packets} } 0 .. 5, 'none'], [2, 0, 0, 0, 0, 3, 3]);
	is('bytes by band', [map { $bands->{$_}{bytes} } 0 .. 5, 'none'], [2000, 0, 0, 0, 0, 3000, 3000]);
	my $classes = $pfqd->{classes};
	is('packets by class', [map { $classes->{$_}{packets} } qw(short long none)], [4, 3, 1]);
	is('bytes by class', [map { $classes->{$_}{bytes} } qw(short long none)], [4000, 3000, 1000]);
	for my $band (0 .. 5, 'none') {
		my $sum = 0;
		$sum += $_ for @{$bands->{$band}{sojourn}{packets}};
		is("band $band: every packet is counted", $sum, $bands->{$band}{packets});
	}
	my ($data, $by_band, $by_class) = (0, 0, 0);
	$data += $pfqd->{tiers}{$_}{packets} for qw(high low);
	$by_band += $_->{packets} for values %$bands;
	$by_class += $_->{packets} for values %$classes;
	is('bands add up to the data tiers', $by_band, $data);
	is('and classes', $by_class, $data);
	# Two frames of 1000 bytes are one turn of 1514: each flow had one.
	is('turns for a band', $pfqd->{serves_banded}, 3);
	is('turns of all flows', $pfqd->{serves_ordinary}, 3);
	check_text($pfqd);
}

# The band of what is first in a flow, and nothing where that has none.
sub check_flows {
	my $text = (tc('-s class show dev m0'))[1];
	my $flow = qr/^ +10\.0\.0\.1:(\d+) > 10\.0\.0\.2:80 udp tier \w+(?: band (\d+))? age /m;
	my %band = $text =~ /$flow/g;
	is('flows and their bands', \%band, { 1000 => '0', 1005 => '5', 1007 => undef, 1013 => '5' });
	return unless (tc('-j -s class show dev m0'))[1] =~ /^\[/;	# not of iproute2 6.1
	my @flows = map { ($_->{stats} // $_)->{flow} } grep { $_->{class} eq 'pfqd' }
		@{tc_json('-s', 'class show dev m0')};
	%band = map { $_->{sport} => $_->{band} } @flows;
	is('as JSON', \%band, { 1000 => 0, 1005 => 5, 1007 => undef, 1013 => 5 });
}

sub check_text {
	my ($pfqd) = @_;
	my $text = text();
	my $wait = qr/[<>]=?[\d.]+[mun]?s/;
	like('text: head of the bands', $text, qr/^ +band +packets +bytes +wait-p50 +wait-p99$/m);
	like("text: band $_", $text, qr/^ +$_ +$pfqd->{bands}{$_}{packets} +\d+ +$wait +$wait$/m)
		for 0, 5, 'none';
	unlike("text: nothing was in band $_", $text, qr/^ +$_ +0 /m) for 1 .. 4;
	like('text: head of the classes', $text, qr/^ +class +packets +bytes +marks +drops$/m);
	like("text: class $_", $text, qr/^ +$_ +$pfqd->{classes}{$_}{packets} +\d+ +0 +0$/m)
		for qw(short long none);
}

sub test_stamps {
	my $before = shown('m0', '-s')->{pfqd}{stamps};
	socket my $tcp, AF_INET, SOCK_STREAM, 0 or die;
	fcntl $tcp, F_SETFL, O_NONBLOCK;
	connect $tcp, pack_sockaddr_in(80, inet_aton('10.0.0.2'));
	my $stamps = shown('m0', '-s')->{pfqd}{stamps};
	is('a SYN is stamped', $stamps, $before + 1);
	like('and counted', text(), qr/^ +stamps $stamps failures 0 serves: /m);
	close $tcp;
}

sub test {
	section('stamps');
	slow_port('m0');
	test_settings();
	test_tables();
	test_stamps();
	write_file("$parameters/$_", 0) for qw(completion stamp);
	run(qw(ip link del m0));
}

1;
