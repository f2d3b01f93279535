# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# The tc plugin in the lab's kernel. Argument: whose tc; "host" is this system's,
# another name that of build/tc/NAME, a suite that scripts/tc-versions has fetched.
use strict;
use warnings;
use FindBin;
use Bench;
use Tap;
use Autoload;
use Budgets;
use Classes;
use Examples;
use Options;
use Refusals;
use Sockets;
use Stamps;
use Statistics;

my $suite = shift // 'host';
my $built = "$FindBin::RealBin/../../../build/tc";

if ($suite eq 'host') {
	$Bench::tc = 'tc';
} elsif (-x "$built/$suite/tc") {
	$Bench::tc = "$built/$suite/tc";
} elsif (open my $reason, '<', "$built/$suite.missing") {
	chomp(my $text = <$reason>);
	skip_all($text);
} else {
	skip_all("no tc of $suite here; run scripts/tc-versions");
}
my ($status, $version) = tc('-V');
print "# $version";
ok(-e "$built/q_pfqd.so", 'the plugin is built') or finish();

# Autoloading first: it needs a kernel without the module.
for my $part (\&Autoload::test, \&Options::test, \&Refusals::test, \&Statistics::test,
	      \&Stamps::test, \&Sockets::test, \&Budgets::test,
	      \&Classes::test, \&Examples::test) {
	ok(0, 'goes on to its end', $@) unless eval { $part->(); 1 };
}
finish();
