// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The parts of the page that are the same in every report.
#pragma once

namespace pfqd::lab {

inline constexpr const char* kPageStyle = R"css(
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1d232a; background: #fff; margin: 0 auto;
       padding: 1.5rem 1.25rem 4rem; max-width: 88rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid #d8dee4; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
p, li, dd { max-width: 46rem; }
.lead { color: #46505a; margin: 0 0 1rem; }
nav a { margin-right: 1.1rem; }
a { color: #0b57a4; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; margin: .4rem 0 1rem; }
caption { text-align: left; color: #46505a; padding: 0 0 .4rem; }
th, td { padding: .22rem .5rem; text-align: right; vertical-align: top; }
td { white-space: nowrap; }
thead th { vertical-align: bottom; border-bottom: 2px solid #8c959f; font-weight: 600; line-height: 1.25; }
tbody tr { border-bottom: 1px solid #e6eaee; }
tbody tr:hover { background: #f3f6f9; }

td small { color: #46505a; white-space: nowrap; }
tr.gap > * { border-top: 2px solid #b6bfc8; }
th.l, td.l { text-align: left; white-space: normal; overflow-wrap: anywhere; }
tbody th, tbody th.l { font-weight: 600; white-space: nowrap; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .6rem .4rem .4rem; border: 1px solid #d8dee4; border-radius: 6px; }
figure:first-child { grid-column: 1 / -1; }
figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: .86rem; color: #46505a; padding: .3rem .6rem; }
pre { background: #f3f6f9; padding: .7rem .9rem; border-radius: 6px; overflow-x: auto; font-size: .86rem; }
details { margin: .6rem 0; }
summary { cursor: pointer; }
dt { font-weight: 600; margin-top: .6rem; }
dd { margin: 0 0 .3rem 1.2rem; }
.warn { background: #fff4e0; border-left: 4px solid #c77700; padding: .5rem .9rem; max-width: 46rem; }
@media print { nav { display: none; } figure, table { break-inside: avoid; } }
)css";

inline constexpr const char* kDefinitions = R"html(
<dl>
<dt>Slowdown</dt>
<dd>(time at which the receiver can read the message's last byte &minus; time at which the message arrives in the
Poisson process) / ideal time. 1 is an idle network. Waiting in the sender's socket counts. A message that never
finished counts as infinitely slow.</dd>
<dt>Ideal time</dt>
<dd>Sum of the links' delays + wire time of all the message's frames on the slowest link + one serialisation of its
first frame on each other link. A frame is payload + 40 B of IPv4 and TCP (52 B with timestamps) + 38 B of Ethernet
(header, FCS, preamble, gap), at least 84 B. No window limit and no interrupt moderation is in it. A slowdown below
0.999 ends the run as an error.</dd>
<dt>Percentile</dt>
<dd>Nearest rank: the value at position &lceil;p&middot;n&rceil; of the n sorted values.</dd>
<dt>Decile</dt>
<dd>The run's messages sorted by size are cut at positions &lceil;i&middot;n/10&rceil;. Equal sizes are never split:
those beyond a cut join the lower decile, which can leave higher deciles smaller or empty (30 % of W5's messages
are exactly 1,000,000 B).</dd>
<dt>Short</dt>
<dd>All messages of the deciles whose largest message is at most 40,000 B. &ldquo;Worst short-decile P99&rdquo; is the
largest P99 among those deciles.</dd>
<dt>Large</dt>
<dd>Messages above 255,000 B. No percentile is given below 100 of them in a run.</dd>
<dt>Several seeds</dt>
<dd>A percentile is the median of the seeds' percentiles, with the smallest and largest below it and
as error bars. Curves are medians at each fraction. Counters are sums.</dd>
<dt>Drops, marks</dt>
<dd>Sums over all queueing disciplines and links of the hosts, and of the switch (ToR).</dd>
<dt>Data packets/s</dt>
<dd>Speed of the lab itself: data packets of the run / (wall time &minus; set-up time).</dd>
<dt>Load</dt>
<dd>Payload bits per second and host, as a share of the link's rate. Headers and acknowledgements come on top.</dd>
</dl>
)html";

inline constexpr const char* kLimits = R"html(
<ul>
<li>Time is virtual, and the processors in it are infinitely fast: host software costs no virtual time. Real hosts
add scheduling, interrupt and copy costs that no number here contains.</li>
<li>The confidence intervals in the raw statistics take messages as independent. Messages that share a queue are
not; the spread over seeds is the better guide, and one seed has none.</li>
<li>Hosts segment before the queueing discipline (no GSO) and the network is one switch, unless the parameters say
otherwise. The switch stores and forwards, and its ports share no buffer.</li>
<li>Connections are opened before the traffic starts: no handshake is in any number.</li>
<li>The arrival process is open: messages keep coming at the load's rate however slow the network is.</li>
<li>A log's hash can be compared between runs with equal kernel source, configuration, compiler, modules, generator,
parameters and seed, and only between such.</li>
</ul>
)html";

}  // namespace pfqd::lab
