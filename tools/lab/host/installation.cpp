// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "lab/host/installation.hpp"

#include <openssl/evp.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace fs = std::filesystem;

namespace pfqd::lab {

namespace {

// Runs a command of ours and returns its output; the status goes to *status.
std::string output_of(const std::string& command, int* status) {
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), [](FILE*) { return 0; });
    if (!pipe) throw std::runtime_error("cannot run " + command);
    std::string text;
    std::array<char, 512> buffer;
    while (size_t size = fread(buffer.data(), 1, buffer.size(), pipe.get())) text.append(buffer.data(), size);
    const int result = pclose(pipe.release());
    *status = WIFEXITED(result) ? WEXITSTATUS(result) : -1;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::string quoted(const std::string& word) {
    std::string out = "'";
    for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

}  // namespace

Installation Installation::find() {
    Installation found;
    const fs::path program = fs::read_symlink("/proc/self/exe");
    found.source_ = program.parent_path().parent_path().parent_path();
    if (!fs::exists(found.kernel_script()))
        throw std::runtime_error("pfqd-lab runs from its checkout (build/bin/pfqd-lab); there is no " +
                                 found.kernel_script().string());
    return found;
}

Installation Installation::copy_to(const fs::path& dir, Kernel& kernel) const {
    Installation copy;
    copy.source_ = dir;
    fs::create_directories(copy.guest().parent_path());
    fs::create_directories(copy.workloads().parent_path());
    fs::copy(guest(), copy.guest());
    fs::copy(workloads(), copy.workloads(), fs::copy_options::recursive);
    fs::copy(kernel.binary, dir / "linux");
    fs::copy(kernel.modules, dir / "modules", fs::copy_options::recursive);
    kernel.binary = dir / "linux";
    kernel.modules = dir / "modules";
    return copy;
}

Kernel Installation::kernel(const KernelChoice& choice) const {
    int status = 0;
    const std::string dir =
        output_of(quoted(kernel_script().string()) + " --version " + quoted(choice.version) +
                      (choice.debug ? " --debug" : "") + " --print-dir 2>/dev/null",
                  &status);
    if (status != 0)
        throw std::runtime_error("no lab kernel " + choice.version + (choice.debug ? " (debug)" : "") +
                                 " has been built; build it with: pfqd-lab kernel --version " +
                                 choice.version + (choice.debug ? " --debug" : ""));
    Kernel kernel;
    kernel.binary = fs::path(dir) / "linux";
    kernel.modules = fs::path(dir) / "modules";
    std::ifstream info(fs::path(dir) / "info.json");
    kernel.info = nlohmann::json::parse(info);
    for (const auto& entry : fs::directory_iterator(kernel.modules))
        if (entry.path().extension() == ".ko")
            kernel.hashes[entry.path().stem().string()] = sha256_file(entry.path());
    return kernel;
}

std::string sha256_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    if (!context || !EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr))
        throw std::runtime_error("SHA-256 is not available");
    std::array<char, 65536> buffer;
    while (file.read(buffer.data(), buffer.size()), file.gcount() > 0)
        EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(file.gcount()));
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    EVP_DigestFinal_ex(context.get(), digest.data(), &size);
    std::string hex;
    for (unsigned int i = 0; i < size; i++) {
        std::array<char, 3> two;
        std::snprintf(two.data(), two.size(), "%02x", digest[i]);
        hex += two.data();
    }
    return hex;
}

}  // namespace pfqd::lab
