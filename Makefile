# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# make          tools and selftests (needs what scripts/bootstrap installs)
# make lab      everything from nothing to the first table and its report
# make check    everything from nothing, then all tests
# make bench    what the qdisc costs a packet beside fq, fq_codel and cake; how fast the lab is
# make lint     style of kernel and C++ code
# make modules  sch_pfqd against the running kernel's headers (or KERNEL_DIR)
#
# Built files go to build/, kernels to a cache outside the tree (scripts/lab-kernel).
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

CXX ?= g++
CXXFLAGS ?= -O2 -g1
CFLAGS ?= -O2 -g1
CPPFLAGS += -Iinclude/uapi -Itools -I. -DFMT_HEADER_ONLY
# The prefix map keeps the checkout's path out of debug information: the load
# generator's hash is part of every result and must not depend on it.
override CXXFLAGS += -std=c++20 -Wall -Wextra -Werror -MMD -MP -ffile-prefix-map=$(CURDIR)=.
NL_CFLAGS := -I/usr/include/libnl3

# libnl can look up names, which a static program cannot; we never ask it to.
STATIC_LDFLAGS := -Wl,--no-warnings

B := build
common_src := $(wildcard tools/lab/common/*.cpp)
guest_src := $(wildcard tools/lab/guest/*.cpp)
host_src := $(filter-out tools/lab/host/main.cpp,$(wildcard tools/lab/host/*.cpp))
unit_src := $(wildcard tools/lab/tests/*.cpp)
selftest_lib_src := $(wildcard selftests/lib/*.cpp)
selftest_src := $(filter-out $(selftest_lib_src),$(wildcard selftests/*/*.cpp))

obj = $(patsubst %.cpp,$(B)/obj/%.o,$(1))
selftest_bin := $(patsubst selftests/%.cpp,$(B)/selftests/%,$(selftest_src))

# tc's plugin. What it calls of tc is found when tc loads it.
TC_CFLAGS := -std=gnu11 -Wall -Wextra -Wmissing-prototypes -Werror -MMD -MP -Iinclude/uapi -Itools/tc
tc_src := $(wildcard tools/tc/*.c)
tc_obj := $(patsubst %.c,$(B)/obj/%.o,$(tc_src))

# pfqdctl and its BPF program, which goes into pfqdctl as a skeleton. Debian has no
# asm/ below /usr/include itself, and clang looks only there for BPF.
CLANG ?= clang
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -MMD -MP -Iinclude/uapi \
	-idirafter /usr/include/$(shell $(CC) -print-multiarch)
pfqdctl_src := $(filter-out tools/pfqdctl/main.cpp,$(wildcard tools/pfqdctl/*.cpp))
pfqdctl_netlink := tools/lab/common/netlink.cpp

.PHONY: all tools lab check lint bench fuzz modules clean
all: tools
tools: $(B)/bin/pfqd-lab $(B)/guest/pfqd-guest $(B)/bin/unit-tests $(selftest_bin) $(B)/tc/q_pfqd.so \
	$(B)/bin/pfqdctl $(B)/bin/edge-bench

$(B)/obj/%.o: %.cpp
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	@$(CXX) $(CPPFLAGS) $(NL_CFLAGS) $(CXXFLAGS) -c -o $@ $<

$(B)/bin/pfqd-lab: $(call obj,$(common_src) $(host_src) tools/lab/host/main.cpp)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CXX) -o $@ $^ -lnl-3 -lcrypto

$(B)/bin/unit-tests: $(call obj,$(common_src) $(host_src) $(unit_src))
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CXX) -o $@ $^ -lgtest -lgtest_main -lnl-3 -lcrypto -lpthread

# Static: the guest's programs must not depend on where they run.
$(B)/guest/pfqd-guest: $(call obj,$(common_src) $(guest_src))
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CXX) -static $(STATIC_LDFLAGS) -o $@ $^ -lnl-3 -lpthread

$(selftest_bin): $(B)/selftests/%: $(B)/obj/selftests/%.o $(call obj,$(common_src) $(selftest_lib_src))
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CXX) -static $(STATIC_LDFLAGS) -o $@ $^ -lnl-3 -lpthread

$(B)/gen/pfqdctl/%.bpf.o: tools/pfqdctl/%.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF  $<"
	@$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(B)/gen/pfqdctl/%.bpf.o: tools/pfqdctl/bench/%.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF  $<"
	@$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(B)/gen/pfqdctl/%.skel.h: $(B)/gen/pfqdctl/%.bpf.o
	@echo "  SKEL $@"
	@$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(B)/obj/tools/pfqdctl/%.o: CPPFLAGS += -isystem $(B)/gen
$(B)/obj/tools/pfqdctl/edge_program.o: $(B)/gen/pfqdctl/edge.skel.h
$(B)/obj/tools/pfqdctl/bench/main.o: $(B)/gen/pfqdctl/bench.skel.h
.SECONDARY: $(B)/gen/pfqdctl/edge.bpf.o $(B)/gen/pfqdctl/bench.bpf.o

$(B)/bin/pfqdctl: $(call obj,$(pfqdctl_netlink) $(pfqdctl_src) tools/pfqdctl/main.cpp)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CXX) -o $@ $^ -lbpf -lnl-3

$(B)/bin/edge-bench: $(call obj,$(pfqdctl_netlink) $(pfqdctl_src) $(wildcard tools/pfqdctl/bench/*.cpp))
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CXX) -o $@ $^ -lbpf -lnl-3

$(B)/obj/tools/tc/%.o: tools/tc/%.c
	@mkdir -p $(@D)
	@echo "  CC   $<"
	@$(CC) $(TC_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

# Lazily: a tc that lacks a function can still do what does not need it.
$(B)/tc/q_pfqd.so: $(tc_obj)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CC) -shared -Wl,-z,lazy -o $@ $^

# Tests of the plugin's parts, with the sanitizers; scripts/tests/tc.sh runs them.
$(B)/tc/test-%: tools/tc/tests/%.c $(tc_src) $(wildcard tools/tc/*.h include/uapi/linux/*.h)
	@mkdir -p $(@D)
	@echo "  LD   $@"
	@$(CC) $(filter-out -MMD -MP,$(TC_CFLAGS)) -O1 -g -fsanitize=address,undefined \
		-fno-sanitize-recover=all -o $@ $(filter %.c,$^)

lab:
	@echo "== installing what is missing"
	@scripts/bootstrap
	@echo "== building tools"
	@$(MAKE) --no-print-directory -j$(shell nproc) tools
	@echo "== lab kernel and modules"
	@$(B)/bin/pfqd-lab kernel
	@echo "== first experiment: four configurations, 60 ms of W4 at 50 % load"
	@$(B)/bin/pfqd-lab run e1 --cell w4:50 --config fifo,dctcp,fq_codel,pfqd --seeds 1 --out $(B)/first
	@$(B)/bin/pfqd-lab report $(B)/first

check:
	@echo "== installing what is missing"
	@scripts/bootstrap
	@echo "== building tools"
	@$(MAKE) --no-print-directory -j$(shell nproc) tools
	@scripts/check

lint:
	@scripts/lint

bench: tools
	@scripts/bench

fuzz: tools
	@scripts/fuzz

KERNEL_DIR ?= /lib/modules/$(shell uname -r)/build
modules:
	$(MAKE) -C $(KERNEL_DIR) M=$(CURDIR) modules

clean:
	rm -rf $(B)

-include $(shell find $(B)/obj $(B)/gen -name '*.d' 2>/dev/null)
