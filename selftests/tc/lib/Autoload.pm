# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# `tc qdisc add ... pfqd` in a kernel without the module: the kernel asks modprobe
# for it by a name that must lead to our file. The name differs by version: until
# 6.8 it is the file's, since then an alias.
package Autoload;
use strict;
use warnings;
use FindBin;
use Bench;
use Tap;

my $log = '/run/modprobe.log';

# In the place of modprobe: notes what it was asked for, loads what has that name.
my $helper = <<'END';
#!/usr/bin/perl
use lib 'LIB';
use FindBin;
use Bench;
my $name = $ARGV[-1];
open my $log, '>>', 'LOG';
print $log "$name\n";
for my $path (glob 'MODULES/*.ko') {
	next unless grep { $_ eq $name } module_names($path);
	load_module($path);
	exit 0;
}
exit 1;
END

sub test {
	section('autoload');
	my @names = module_names("$Bench::modules/sch_pfqd.ko");
	ok(scalar(grep { $_ eq 'sch_pfqd' } @names), 'the name until 6.8 is one of the module', "@names");
	ok(scalar(grep { $_ eq 'net-sch-pfqd' } @names), 'the name since 6.9 is one of the module', "@names");
	ok(!module_loaded('sch_pfqd'), 'the module is not loaded before');

	(my $program = $helper) =~ s/LIB/$FindBin::RealBin/;
	$program =~ s/LOG/$log/;
	$program =~ s/MODULES/$Bench::modules/;
	write_file('/run/modprobe', $program);
	chmod 0755, '/run/modprobe';
	write_file('/proc/sys/kernel/modprobe', '/run/modprobe');

	make_dummy('auto0');
	my ($status, $out, $err) = tc('qdisc add dev auto0 root pfqd');
	is('tc succeeds', $status, 0) or print "# $err";
	ok(module_loaded('sch_pfqd'), 'the module is loaded after');
	open my $in, '<', $log or die "$log: $!";
	chomp(my @asked = <$in>);
	is('modprobe was asked once', scalar @asked, 1);
	ok(scalar(grep { $_ eq $asked[0] } @names), 'for a name of the module', "'$asked[0]' of @names");
	is('and the qdisc is there', shown('auto0')->{kind}, 'pfqd');
	run('ip', 'link', 'del', 'auto0');
}

1;
