// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/guest/mounts.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "lab/common/fd.hpp"
#include "lab/common/launch.hpp"

namespace pfqd::lab {

namespace {

void mount_at(const char* type, const std::string& where, unsigned long flags = 0,
              const char* data = nullptr) {
    check(mount("none", where.c_str(), type, flags, data), "mount " + std::string(type) + " on " + where);
}

void make_dir(const std::string& path) {
    if (mkdir(path.c_str(), 0755) < 0 && errno != EEXIST) throw_errno("mkdir " + path);
}

std::string host_dir(int fd) {
    return "/proc/self/fd/" + std::to_string(fd) + "/.";
}

}  // namespace

void mount_everything() {
    // We start in the run's directory; /root in it is an empty mount point.
    mount_at("hostfs", "/root", MS_RDONLY, "/");
    for (const char* dir : {"/root/tmp", "/root/run", "/root/var"}) mount_at("tmpfs", dir, 0, "mode=0755");
    check(chmod("/root/tmp", 01777), "chmod /tmp");
    mount_at("proc", "/root/proc");
    mount_at("sysfs", "/root/sys");
    mount_at("devtmpfs", "/root/dev");
    for (const char* dir : {"/root/run/lab", "/root/run/lab/out", "/root/run/lab/src",
                            "/root/run/lab/modules", "/root/run/netns"})
        make_dir(dir);
    mount_at("hostfs", "/root/run/lab/out", 0, "/proc/self/cwd/.");
    mount_at("hostfs", "/root/run/lab/src", MS_RDONLY, host_dir(kSrcFd).c_str());
    mount_at("hostfs", "/root/run/lab/modules", MS_RDONLY, host_dir(kModulesFd).c_str());
    check(chdir("/root"), "chdir /root");
    check(mount(".", "/", nullptr, MS_MOVE, nullptr), "move root");
    check(chroot("."), "chroot");
    check(chdir("/"), "chdir /");
}

void write_file(const std::string& path, const std::string& text) {
    Fd fd(check(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), "open " + path));
    size_t done = 0;
    while (done < text.size())
        done += static_cast<size_t>(check(
            static_cast<int>(write(fd.get(), text.data() + done, text.size() - done)), "write " + path));
}

std::string read_file(const std::string& path) {
    Fd fd(check(open(path.c_str(), O_RDONLY | O_CLOEXEC), "open " + path));
    std::string text;
    std::array<char, 16384> buffer;
    while (int size = check(static_cast<int>(read(fd.get(), buffer.data(), buffer.size())), "read " + path))
        text.append(buffer.data(), static_cast<size_t>(size));
    return text;
}

void load_module(const std::string& name) {
    const std::string path = std::string(kModuleDir) + "/" + name + ".ko";
    Fd fd(check(open(path.c_str(), O_RDONLY | O_CLOEXEC), "open module " + path));
    if (syscall(SYS_finit_module, fd.get(), "", 0) < 0 && errno != EEXIST) throw_errno("load module " + name);
}

}  // namespace pfqd::lab
