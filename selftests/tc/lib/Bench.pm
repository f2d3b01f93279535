# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# What tests of the tc plugin work with: the tc under test, the numbers of the uapi
# header, modules, and devices.
package Bench;
use strict;
use warnings;
use File::Temp;
use JSON::PP;
use Exporter 'import';
our @EXPORT = qw(run tc tc_json shown options_of text_of header make_dummy load_module
		 module_names module_loaded write_file);

my $source = "$FindBin::RealBin/../../..";
our $tc;		# the program under test
our $modules = $ENV{LAB_MODULES} // '/run/lab/modules';

$ENV{TC_LIB_DIR} = "$source/build/tc";

# Runs a command: exit status, stdout, stderr.
sub run {
	my @command = @_;
	my ($out, $err) = (File::Temp->new, File::Temp->new);
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		open STDOUT, '>&', $out or die;
		open STDERR, '>&', $err or die;
		exec @command or exit 127;
	}
	waitpid $pid, 0;
	my $status = $? >> 8 | ($? & 127 ? 128 : 0);
	return ($status, map { seek $_, 0, 0; local $/; <$_> // '' } $out, $err);
}

sub tc { return run($tc, map { split ' ' } @_); }

# A command that must succeed.
sub must {
	my ($status, $out, $err) = run(map { split ' ' } @_);
	die "@_: status $status: $err$out" if $status;
	return $out;
}

# What `tc -j` prints, parsed; dies when that is no JSON.
sub tc_json {
	my ($status, $out, $err) = tc('-j', @_);
	die "tc -j @_: status $status: $err$out" if $status || $err ne '';
	return JSON::PP->new->decode($out);
}

# The pfqd of a device, as JSON.
sub shown {
	my ($dev, @flags) = @_;
	my ($qdisc) = grep { $_->{kind} eq 'pfqd' } @{tc_json(@flags, "qdisc show dev $dev")};
	die "no pfqd on $dev" unless $qdisc;
	return $qdisc;
}

sub options_of { return shown($_[0])->{options}; }

# The options of a device's root as people see them.
sub text_of {
	my ($dev) = @_;
	my ($status, $out, $err) = tc("qdisc show dev $dev");
	die "tc qdisc show: $err" if $status;
	die "tc shows no pfqd: $out" unless $out =~ /^qdisc pfqd \S+ root refcnt \d+ (.*?) *$/m;
	return $1;
}

# PFQD_x of the uapi header.
my %numbers;
sub header {
	my ($name) = @_;
	unless (%numbers) {
		my $path = "$source/include/uapi/linux/pkt_sch_pfqd.h";
		open my $in, '<', $path or die "$path: $!";
		while (my $line = <$in>) {
			$numbers{$1} = $2 + 0 if $line =~ /^#define (PFQD_\w+)\s+(\d+)\b/;
		}
	}
	return $numbers{"PFQD_$name"} // die "the header has no PFQD_$name";
}

# A device that swallows what is sent on it.
sub make_dummy {
	my ($name) = @_;
	must("ip link add $name type dummy");
	must("ip link set $name up");
}

sub write_file {
	my ($path, $text) = @_;
	open my $out, '>', $path or die "$path: $!";
	print $out $text or die "$path: $!";
	close $out or die "$path: $!";
}

# --- modules ----------------------------------------------------------------------

my %finit_module = (x86_64 => 313, i686 => 350, aarch64 => 273);

# Loads a file, as insmod does.
sub load_module {
	my ($path) = @_;
	chomp(my $machine = `uname -m`);
	my $number = $finit_module{$machine} // die "finit_module() has no known number on $machine";
	open my $file, '<', $path or die "$path: $!";
	my $parameters = '';
	return if syscall($number, fileno $file, $parameters, 0) == 0 || $!{EEXIST};
	die "load $path: $!";
}

# The names that modprobe finds a module file by: its own and its aliases.
sub module_names {
	my ($path) = @_;
	open my $file, '<:raw', $path or die "$path: $!";
	my $content = do { local $/; <$file> };
	my ($own) = $path =~ m{([^/]+)\.ko$};
	return ($own, $content =~ /\0alias=([\w:-]+)\0/g);
}

sub module_loaded { return -e "/sys/module/$_[0]/initstate"; }

1;
