# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# Options: defaults, each of them set and shown, changes that leave the others
# alone, and text that means the same when it is typed again.
package Options;
use strict;
use warnings;
use Bench;
use JSON::PP;
use Tap;
use Exporter 'import';
our @EXPORT_OK = qw(%range);

# Options with a range: its name in the header.
our %range = (
	limit => 'LIMIT', memlimit => 'MEMLIMIT', flows => 'FLOWS', quantum => 'QUANTUM',
	demote => 'DEMOTE', control => 'CONTROL', budget => 'BUDGET', short => 'BUDGET',
	long => 'BUDGET', rate => 'RATE',
);

my ($true, $false) = ($JSON::PP::true, $JSON::PP::false);

# Typed, the option's name, its value in JSON, and how people see it.
my @settings = (
	['limit 1mb',		limit => 1048576, 'limit 1Mb'],
	['limit 1000000',	limit => 1000000, 'limit 1000000b'],
	['limit 1.5kb',		limit => 1536, 'limit 1536b'],
	['limit 33553432',	limit => 33553432, 'limit 33553432b'],	# tc itself says 32Mb
	['memlimit 4Mb',	memlimit => 4194304, 'memlimit 4Mb'],
	['memlimit 8mbit',	memlimit => 1048576, 'memlimit 1Mb'],
	['flows 64',		flows => 64, 'flows 64'],
	['flows 70000',		flows => 70000, 'flows 70000'],
	['quantum 3000',	quantum => 3000, 'quantum 3000b'],
	['quantum 64k',		quantum => 65536, 'quantum 64Kb'],
	['quantum auto',	quantum => 1514, 'quantum 1514b'],
	['demote 500',		demote => 500, 'demote 500us'],
	['demote 1.5ms',	demote => 1500, 'demote 1500us'],
	['demote 2s',		demote => 2000000, 'demote 2s'],
	['control 16',		control => 16, 'control 16'],
	['budget 20us',		budget => 20, 'budget 20us'],
	['budget 100msec',	budget => 100000, 'budget 100ms'],
	['short 30us',		short => 30, 'short 30us'],
	['long 7ms',		long => 7000, 'long 7ms'],
	['noecn',		ecn => $false, 'noecn'],
	['ecn',			ecn => $true, 'ecn'],
	['rate 25gbit',		rate => 3125000000, 'rate 25Gbit'],
	['rate 12345679bps',	rate => 12345679, 'rate 98765432bit'],
	['rate 400gbit',	rate => 50000000000, 'rate 400Gbit'],
	['rate auto',		rate => 0, 'rate auto'],
	['split_gso',		split_gso => $true, 'split_gso'],
	['no_split_gso',	split_gso => $false, 'no_split_gso'],
	['completion on',	completion => 'on', 'completion on'],
	['completion off',	completion => 'off', 'completion off'],
	['completion inherit',	completion => 'inherit', 'completion inherit'],
	['stamp on',		stamp => 'on', 'stamp on'],
	['stamp off',		stamp => 'off', 'stamp off'],
	['stamp local',		stamp => 'local', 'stamp local'],
	['stamp inherit',	stamp => 'inherit', 'stamp inherit'],
);

my @together = (
	'',
	'limit 1mb memlimit 4mb budget 20us',
	'limit 1 memlimit 1 flows 1 quantum 256 demote 1 control 1 budget 1 short 1 long 1 ' .
	'noecn rate 8000 split_gso completion off stamp local',
	'limit 1gb memlimit 1gb flows 1048576 quantum 1mb demote 60s control 1024 budget 1s ' .
	'short 1s long 1s ecn rate 8tbit no_split_gso completion on stamp on',
	'limit 1073741823 memlimit 999999 quantum 9014 demote 5001 rate 8008bit budget 999999',
);

sub defaults {
	my %want = map { $_ => header(($_ =~ /short|long/ ? 'BUDGET_' . uc : $range{$_}) . '_DEFAULT') }
		keys %range;
	return {
		%want,
		quantum => 1514,	# MTU 1500 and the link header
		ecn => header('ECN_DEFAULT') ? $true : $false,
		split_gso => header('SPLIT_GSO_DEFAULT') ? $true : $false,
		completion => 'inherit',
		stamp => 'inherit',
	};
}

sub set_ok {
	my ($what, $dev, $typed) = @_;
	my ($status, $out, $err) = tc("qdisc $what dev $dev root pfqd $typed");
	return ok(!$status && $out eq '' && $err eq '', "$what '$typed' succeeds in silence",
		  "status $status: $err$out");
}

sub test {
	section('defaults');
	make_dummy('d0');
	make_dummy('d1');
	set_ok('add', 'd0', '');
	is('as the header says', options_of('d0'), defaults());

	section('one option');
	for my $setting (@settings) {
		my ($typed, $name, $value, $text) = @$setting;
		my $before = options_of('d0');
		set_ok('change', 'd0', $typed);
		is("'$typed' is shown, all others are as before", options_of('d0'),
		   { %$before, $name => $value });
		like("'$typed' as people see it", ' ' . text_of('d0') . ' ', qr/ \Q$text\E /);
	}

	section('quantum auto');
	set_ok('change', 'd0', 'quantum auto');
	run(qw(ip link set d0 mtu 9000));
	is('follows the MTU', options_of('d0')->{quantum}, 9014);
	run(qw(ip link set d0 mtu 1500));

	section('typed again');
	for my $typed (@together) {
		run($Bench::tc, qw(qdisc del dev d0 root));
		run($Bench::tc, qw(qdisc del dev d1 root));
		set_ok('add', 'd0', $typed);
		my $text = text_of('d0');
		set_ok('add', 'd1', $text);
		is("the same options", options_of('d1'), options_of('d0'));
		is("the same text", text_of('d1'), $text);
	}

	section('all at once');
	my $all = $together[2];
	set_ok('replace', 'd0', $all);
	is('every option has what was typed', options_of('d0'), {
		limit => 1, memlimit => 1, flows => 1, quantum => 256, demote => 1, control => 1,
		budget => 1, short => 1, long => 1, ecn => $false, rate => 1000,
		split_gso => $true, completion => 'off', stamp => 'local',
	});
	run($Bench::tc, qw(qdisc del dev d0 root));
	run($Bench::tc, qw(qdisc del dev d1 root));
}

1;
