# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# TAP as the C++ selftests print it: a line a check, and what was got and wanted
# below one that failed.
package Tap;
use strict;
use warnings;
use JSON::PP;
use Exporter 'import';
our @EXPORT = qw(section ok is like unlike finish skip_all);

my ($count, $failed, $section) = (0, 0, '');
my $writer = JSON::PP->new->canonical->allow_nonref;

$| = 1;

# A line on the console now and then: the lab gives up a guest that is silent there for
# minutes, and on a busy machine these suites are longer than that.
sub sign_of_life {
	open my $console, '>', '/dev/console' or return;
	print $console "lab: $count points\n";
}

sub section { $section = "$_[0]: "; }

sub ok {
	my ($good, $name, @diagnosis) = @_;
	sign_of_life() if ++$count % 25 == 0;
	$failed++ unless $good;
	print $good ? 'ok' : 'not ok', " $count - $section$name\n";
	unless ($good) {
		print "# $_\n" for map { split /\n/, $_ // 'nothing' } @diagnosis;
	}
	return $good;
}

# Deeply, and by what JSON makes of it: 1 and "1" differ.
sub same { return $writer->encode($_[0]) eq $writer->encode($_[1]); }

sub is {
	my ($name, $got, $want) = @_;
	return ok(same($got, $want), $name, 'got ' . $writer->encode($got),
		  'want ' . $writer->encode($want));
}

sub like {
	my ($name, $got, $want) = @_;
	return ok(scalar($got =~ $want), $name, "got $got", "want $want");
}

sub unlike {
	my ($name, $got, $never) = @_;
	return ok(scalar($got !~ $never), $name, "got $got", "and did not want $never");
}

sub finish {
	print "1..$count\n";
	exit($failed ? 1 : 0);
}

sub skip_all {
	print "1..0 # SKIP $_[0]\n";
	exit 0;
}

1;
