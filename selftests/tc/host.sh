#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
# The plugin in this system's own tc.
here=${0%/*}
exec perl -I "$here/lib" "$here/lib/main.pl" host
