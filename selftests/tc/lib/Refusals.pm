# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# What is refused, with a text that names option, value and accepted range, and
# changes nothing. The range in the text must be the kernel's: both its ends are
# set, and must be the numbers of the header.
package Refusals;
use strict;
use warnings;
use Bench;
use Options qw(%range);
use Tap;

# Values that no number option takes: all of them for an option of each kind, the
# first two for the others.
my %each_kind = map { $_ => 1 } qw(limit flows demote rate);
my @never = qw(-1 1x +1 x 1.2.3 0x10 1e3 nan inf .5 1. 18446744073709551616
	       99999999999999999999999999);

# Below the smallest number, above the largest, and what a __u32 would make small.
sub out_of_range {
	my ($option) = @_;
	my ($min, $max) = map { header("$range{$option}_$_") } qw(MIN MAX);
	my $bits = $option eq 'rate' ? 8 : 1;	# a bare rate is in bit/s
	my $above = 1 + ($option eq 'rate' ? $max : 4294967295);
	return map { $_ * $bits } $min - 1, $max + 1, $above, $above + $min;
}

my $before;	# the options as they are

# The typed arguments are accepted.
sub set {
	my ($what, $typed) = @_;
	my ($status, $out, $err) = tc("qdisc $what dev r0 root pfqd $typed");
	die "$what '$typed': $err" if $status;
	$before = options_of('r0');
}

# The typed arguments are refused with that text, and nothing changes.
sub refused {
	my ($typed, $text) = @_;
	my ($status, $out, $err) = tc("qdisc change dev r0 root pfqd $typed");
	my $same = Tap::same(options_of('r0'), $before);
	ok($status == 1 && $out eq '' && $err =~ $text && $err !~ /\n./ && $same,
	   "'$typed'", "status $status, want 1", "got '$err'", "want $text",
	   $same ? () : 'the options have changed');
	return $err;
}

sub test {
	section('refused');
	make_dummy('r0');
	set('add', 'limit 2mb rate 10gbit');
	my ($status, $out, $help) = tc('qdisc add dev r0 root pfqd help');

	for my $option (sort keys %range) {
		my $err = refused("$option", qr/^pfqd: $option: the value is missing; accepted: /);
		my ($low, $high) = $err =~ /accepted: (\S+) \.\. ([^\s,]+)/;
		$_ //= 'nothing' for $low, $high;
		my $accepted = qr/; accepted: \Q$low .. $high\E(, or auto)?$/;
		refused("$option $_", qr/^pfqd: $option '\Q$_\E' is .*$accepted/)
			for @never[0 .. ($each_kind{$option} ? $#never : 1)];
		refused("$option $_", qr/^pfqd: $option '\Q$_\E' is out of range$accepted/)
			for out_of_range($option);
		for my $end ([$low, 'MIN'], [$high, 'MAX']) {
			my ($typed, $name) = @$end;
			set('change', "$option $typed");
			is("$option $typed is the header's $range{$option}_$name",
			   $before->{$option}, header("$range{$option}_$name"));
		}
		like("help has $option, its range and default", $help,
		     qr/^  $option .*\n +\Q$low .. $high\E(, or auto)?; default \w+$/m);
	}
	is('help is no success', $status, 1);
	is('and nothing on stdout', $out, '');
	like("help has $_", $help, qr/^  \Q$_\E .*\n +default \w+$/m)
		for 'ecn|noecn', 'split_gso|no_split_gso', 'completion off|on|inherit',
		    'stamp off|on|inherit|local';

	refused('limit auto', qr/^pfqd: limit 'auto' is not a number like/);
	refused('limit 4294967297b', qr/^pfqd: limit '4294967297b' is out of range/);
	refused('limit 5gb', qr/^pfqd: limit '5gb' is out of range/);
	refused('memlimit 1.3kb', qr/^pfqd: memlimit '1.3kb' is not a whole number of bytes/);
	refused('flows 1.5', qr/^pfqd: flows '1.5' is not a whole number;/);
	refused('demote 0.5us', qr/^pfqd: demote '0.5us' is not a whole number of microseconds/);
	refused('budget 5min', qr/^pfqd: budget '5min' is not a number like 20us/);
	refused('rate 10%', qr/^pfqd: rate '10%' is not a number like 100mbit/);
	refused('completion', qr/^pfqd: completion: the value is missing; accepted: .*off\|on\|inherit/);
	refused('completion maybe', qr/^pfqd: completion 'maybe' is not known; accepted: off, on or inherit/);
	refused('completion 1', qr/^pfqd: completion '1' is not known/);
	refused('completion local', qr/^pfqd: completion 'local' is not known; accepted: off, on or inherit$/);
	refused('stamp', qr/^pfqd: stamp: the value is missing; accepted: .*off\|on\|inherit\|local$/);
	refused('stamp yes', qr/^pfqd: stamp 'yes' is not known; accepted: off, on, inherit or local$/);
	refused('stamp on stamp off', qr/^pfqd: 'stamp': stamp was given before/);
	refused('ecn 1', qr/^pfqd: there is no option '1'; accepted: limit .* help$/);
	refused('colour red', qr/^pfqd: there is no option 'colour'; accepted: limit .* ecn noecn .*completion/);
	refused('limit 1mb limit 2mb', qr/^pfqd: 'limit': limit was given before/);
	refused('ecn noecn', qr/^pfqd: 'noecn': ecn was given before/);
	refused('limit 1mb demote 1x', qr/^pfqd: demote '1x'/);
	tc('qdisc del dev r0 root');
}

1;
